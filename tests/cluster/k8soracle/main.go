// k8soracle answers as the API server would, without one: a JSON request per line in, a JSON verdict per line out.
//
//	{"kind": "Pod"|"Deployment", "object": {…}, "patch": […]?}
//
// It runs the API server's own code: the patch library of its webhook dispatcher, strict decoding, defaulting,
// conversion, then rest.BeforeCreate with the kind's real strategy. Admission plug-ins and storage are left out.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	"k8s.io/kubernetes/pkg/registry/apps/deployment"
	"k8s.io/kubernetes/pkg/registry/core/pod"
)

const (
	namespace  = "default"
	longestPod = 64 << 20 // bytes of one line
)

type kind struct {
	strategy rest.RESTCreateStrategy
	resource schema.GroupVersionResource
}

var kinds = map[string]kind{
	"Pod":        {pod.Strategy, schema.GroupVersionResource{Version: "v1", Resource: "pods"}},
	"Deployment": {deployment.Strategy, schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}},
}

type question struct {
	Kind   string          `json:"kind"`
	Object json.RawMessage `json:"object"`
	Patch  json.RawMessage `json:"patch"`
}

// verdict says at which stage the object was refused (patch, decode, invalid) and why, or that it was accepted.
// Patched is the object after the patch, before anything else; Object is it decoded, defaulted and written again,
// which is what a webhook is shown.
type verdict struct {
	OK       bool            `json:"ok"`
	Stage    string          `json:"stage,omitempty"`
	Message  string          `json:"message,omitempty"`
	Warnings []string        `json:"warnings,omitempty"`
	Patched  json.RawMessage `json:"patched,omitempty"`
	Object   json.RawMessage `json:"object,omitempty"`
}

type recorder struct{ texts []string }

func (r *recorder) AddWarning(_, text string) { r.texts = append(r.texts, text) }

var codecs = serializer.NewCodecFactory(legacyscheme.Scheme, serializer.EnableStrict)

func judge(q question) verdict {
	k, found := kinds[q.Kind]
	if !found {
		return verdict{Stage: "question", Message: "unknown kind " + q.Kind}
	}
	var v verdict
	if len(q.Patch) > 0 {
		patched, err := apply(q.Object, q.Patch)
		if err != nil {
			return verdict{Stage: "patch", Message: err.Error()}
		}
		q.Object, v.Patched = patched, patched
	}
	object, err := runtime.Decode(codecs.UniversalDecoder(), q.Object)
	if err != nil {
		v.Stage, v.Message = "decode", err.Error()
		return v
	}
	// Encoded before the strategy runs: it sets fields that no webhook sees yet, like the status.
	v.Object, err = runtime.Encode(codecs.LegacyCodec(k.resource.GroupVersion()), object)
	if err != nil {
		v.Stage, v.Message = "encode", err.Error()
		return v
	}
	v.Warnings, err = create(k, object)
	if err != nil {
		v.Stage, v.Message = "invalid", err.Error()
		return v
	}
	v.OK = true
	return v
}

func apply(object, patch []byte) ([]byte, error) {
	operations, err := jsonpatch.DecodePatch(patch)
	if err != nil {
		return nil, err
	}
	return operations.Apply(object)
}

// create does what the registry's store does before it writes.
func create(k kind, object runtime.Object) ([]string, error) {
	accessor, err := meta.Accessor(object)
	if err != nil {
		return nil, err
	}
	accessor.SetNamespace(namespace)
	rest.FillObjectMetaSystemFields(accessor) // an object without uid is refused
	if accessor.GetName() == "" && accessor.GetGenerateName() != "" {
		accessor.SetName(k.strategy.GenerateName(accessor.GetGenerateName()))
	}
	warnings := &recorder{}
	ctx := request.WithNamespace(context.Background(), namespace)
	ctx = request.WithRequestInfo(ctx, &request.RequestInfo{IsResourceRequest: true, Namespace: namespace,
		APIGroup: k.resource.Group, APIVersion: k.resource.Version, Resource: k.resource.Resource})
	ctx = warning.WithWarningRecorder(audit.WithAuditContext(ctx), warnings)
	err = rest.BeforeCreate(k.strategy, ctx, object)
	return warnings.texts, err
}

func answer(line []byte) verdict {
	var q question
	if err := json.Unmarshal(line, &q); err != nil {
		return verdict{Stage: "question", Message: err.Error()}
	}
	return judge(q)
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(make([]byte, 1<<20), longestPod)
	out := bufio.NewWriter(os.Stdout)
	answers := json.NewEncoder(out)
	answers.SetEscapeHTML(false)
	for lines.Scan() {
		if err := answers.Encode(answer(lines.Bytes())); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		if err := out.Flush(); err != nil {
			os.Exit(1) // nobody listens any more
		}
	}
	if err := lines.Err(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
