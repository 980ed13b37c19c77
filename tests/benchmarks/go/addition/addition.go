// Package addition holds what every reference server adds to a pod. The values are those that drainhook has decided
// for the benchmark's pod, so the references do less work: they compute none of them.
package addition

import (
	"encoding/json"
	"flag"
	"os"
	"strings"
)

// Addition is read from a file once at the start.
type Addition struct {
	LabelKey   string          `json:"labelKey"`
	LabelValue string          `json:"labelValue"`
	Image      string          `json:"image"`
	StatusKey  string          `json:"statusKey"`
	Status     string          `json:"status"`
	Grace      int64           `json:"grace"`
	PreStop    json.RawMessage `json:"preStop"`
	Probe      json.RawMessage `json:"probe"`
}

// Flags are what every reference server is started with.
type Flags struct {
	Port         int
	Certificates string
	ByHand       bool
}

// IsServer says whether an image is the engine's.
func (a *Addition) IsServer(image string) bool {
	return strings.Contains(image, a.Image)
}

// IsLabelled says whether a pod asks to be patched.
func (a *Addition) IsLabelled(labels map[string]string) bool {
	return labels[a.LabelKey] == a.LabelValue
}

// Load parses the command line and reads the addition.
func Load() (*Addition, Flags, error) {
	var flags Flags
	path := flag.String("addition", "", "file with what is added to a pod")
	flag.IntVar(&flags.Port, "port", 0, "port to listen on")
	flag.StringVar(&flags.Certificates, "certificates", "", "folder with tls.crt and tls.key")
	flag.BoolVar(&flags.ByHand, "by-hand", false, "write the patch by hand instead of diffing two documents")
	flag.Parse()
	text, err := os.ReadFile(*path)
	if err != nil {
		return nil, flags, err
	}
	a := &Addition{}
	return a, flags, json.Unmarshal(text, a)
}
