// An admission webhook written for speed: the standard library, only the needed fields, operations by hand.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"

	"drainhook.dev/benchmarks/addition"
)

type review struct {
	Request struct {
		UID    string `json:"uid"`
		Object pod    `json:"object"`
	} `json:"request"`
}

type pod struct {
	Metadata struct {
		Labels      map[string]string `json:"labels"`
		Annotations map[string]string `json:"annotations"`
	} `json:"metadata"`
	Spec struct {
		Grace      *int64      `json:"terminationGracePeriodSeconds"`
		Containers []container `json:"containers"`
	} `json:"spec"`
}

type container struct {
	Image          string          `json:"image"`
	ReadinessProbe json.RawMessage `json:"readinessProbe"`
	Lifecycle      *struct {
		PreStop json.RawMessage `json:"preStop"`
	} `json:"lifecycle"`
}

type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

type answer struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Response   response `json:"response"`
}

type response struct {
	UID       string `json:"uid"`
	Allowed   bool   `json:"allowed"`
	PatchType string `json:"patchType,omitempty"`
	Patch     []byte `json:"patch,omitempty"`
}

type handler struct{ add *addition.Addition }

func (h handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 7<<20))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var asked review
	if err := json.Unmarshal(body, &asked); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	said := response{UID: asked.Request.UID, Allowed: true}
	if operations := h.operations(&asked.Request.Object); len(operations) > 0 {
		said.PatchType = "JSONPatch"
		if said.Patch, err = json.Marshal(operations); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
	}
	text, err := json.Marshal(answer{"admission.k8s.io/v1", "AdmissionReview", said})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	_, _ = w.Write(text)
}

func (h handler) operations(p *pod) []operation {
	if !h.add.IsLabelled(p.Metadata.Labels) {
		return nil
	}
	for i := range p.Spec.Containers {
		if h.add.IsServer(p.Spec.Containers[i].Image) {
			return h.patch(p, i)
		}
	}
	return nil
}

func (h handler) patch(p *pod, index int) []operation {
	server, path := &p.Spec.Containers[index], "/spec/containers/"+strconv.Itoa(index)
	var operations []operation
	add := func(path string, value any) { operations = append(operations, operation{"add", path, value}) }
	if server.Lifecycle == nil {
		add(path+"/lifecycle", map[string]any{"preStop": h.add.PreStop})
	} else if server.Lifecycle.PreStop == nil {
		add(path+"/lifecycle/preStop", h.add.PreStop)
	}
	if server.ReadinessProbe == nil {
		add(path+"/readinessProbe", h.add.Probe)
	}
	if p.Spec.Grace == nil || *p.Spec.Grace < h.add.Grace {
		add("/spec/terminationGracePeriodSeconds", h.add.Grace)
	}
	if p.Metadata.Annotations == nil {
		add("/metadata/annotations", map[string]string{h.add.StatusKey: h.add.Status})
	} else {
		add("/metadata/annotations/"+strings.ReplaceAll(h.add.StatusKey, "/", "~1"), h.add.Status)
	}
	return operations
}

func main() {
	add, flags, err := addition.Load()
	if err != nil {
		log.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("POST /mutate", handler{add})
	server := &http.Server{Addr: fmt.Sprintf("127.0.0.1:%d", flags.Port), Handler: mux}
	certificate := filepath.Join(flags.Certificates, "tls.crt")
	log.Fatal(server.ListenAndServeTLS(certificate, filepath.Join(flags.Certificates, "tls.key")))
}
