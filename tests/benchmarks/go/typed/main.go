// The usual admission webhook: controller-runtime decodes a typed pod; the patch is a diff of two encodings, or, with
// -by-hand, a list of operations. It answers as drainhook does for the benchmark's pod.
package main

import (
	"context"
	"encoding/json"
	"log"
	"net/http"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"drainhook.dev/benchmarks/addition"
	"github.com/go-logr/logr"
	"gomodules.xyz/jsonpatch/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

type handler struct {
	decoder admission.Decoder
	add     *addition.Addition
	preStop *corev1.LifecycleHandler
	probe   *corev1.Probe
	byHand  bool
}

func (h *handler) Handle(_ context.Context, req admission.Request) admission.Response {
	pod := &corev1.Pod{}
	if err := h.decoder.Decode(req, pod); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	index := h.server(pod)
	if index < 0 {
		return admission.Allowed("")
	}
	if h.byHand {
		return admission.Patched("", h.operations(pod, index)...)
	}
	h.mutate(pod, &pod.Spec.Containers[index])
	encoded, err := json.Marshal(pod)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	return admission.PatchResponseFromRaw(req.Object.Raw, encoded)
}

func (h *handler) server(pod *corev1.Pod) int {
	if h.add.IsLabelled(pod.Labels) {
		for i := range pod.Spec.Containers {
			if h.add.IsServer(pod.Spec.Containers[i].Image) {
				return i
			}
		}
	}
	return -1
}

func (h *handler) mutate(pod *corev1.Pod, server *corev1.Container) {
	if server.Lifecycle == nil {
		server.Lifecycle = &corev1.Lifecycle{}
	}
	if server.Lifecycle.PreStop == nil {
		server.Lifecycle.PreStop = h.preStop
	}
	if server.ReadinessProbe == nil {
		server.ReadinessProbe = h.probe
	}
	if grace := pod.Spec.TerminationGracePeriodSeconds; grace == nil || *grace < h.add.Grace {
		pod.Spec.TerminationGracePeriodSeconds = &h.add.Grace
	}
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	pod.Annotations[h.add.StatusKey] = h.add.Status
}

func (h *handler) operations(pod *corev1.Pod, index int) []jsonpatch.Operation {
	server := &pod.Spec.Containers[index]
	path := "/spec/containers/" + strconv.Itoa(index)
	var operations []jsonpatch.Operation
	add := func(path string, value any) {
		operations = append(operations, jsonpatch.NewOperation("add", path, value))
	}
	if server.Lifecycle == nil {
		add(path+"/lifecycle", corev1.Lifecycle{PreStop: h.preStop})
	} else if server.Lifecycle.PreStop == nil {
		add(path+"/lifecycle/preStop", h.preStop)
	}
	if server.ReadinessProbe == nil {
		add(path+"/readinessProbe", h.probe)
	}
	if grace := pod.Spec.TerminationGracePeriodSeconds; grace == nil || *grace < h.add.Grace {
		add("/spec/terminationGracePeriodSeconds", h.add.Grace)
	}
	if pod.Annotations == nil {
		add("/metadata/annotations", map[string]string{h.add.StatusKey: h.add.Status})
	} else {
		add("/metadata/annotations/"+strings.ReplaceAll(h.add.StatusKey, "/", "~1"), h.add.Status)
	}
	return operations
}

func run() error {
	add, flags, err := addition.Load()
	if err != nil {
		return err
	}
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		return err
	}
	h := &handler{decoder: admission.NewDecoder(scheme), add: add, byHand: flags.ByHand}
	if err := json.Unmarshal(add.PreStop, &h.preStop); err != nil {
		return err
	}
	if err := json.Unmarshal(add.Probe, &h.probe); err != nil {
		return err
	}
	ctrllog.SetLogger(logr.Discard())
	server := webhook.NewServer(webhook.Options{Host: "127.0.0.1", Port: flags.Port, CertDir: flags.Certificates})
	server.Register("/mutate", &admission.Webhook{Handler: h})
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	return server.Start(ctx)
}

func main() {
	if err := run(); err != nil {
		log.Fatal(err)
	}
}
