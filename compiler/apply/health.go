package apply

import (
	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// A Health is how an object is.
type Health string

// How an object can be.
const (
	Ready    Health = "ready"
	NotReady Health = "not ready"
	Failed   Health = "failed" // and does not become ready by waiting
)

// healthOf returns how an object is, and why.
func healthOf(o *unstructured.Unstructured) (Health, string) {
	if o == nil {
		return NotReady, "it is not there"
	}
	r, err := status.Compute(o)
	if err != nil {
		return NotReady, err.Error()
	}
	switch r.Status {
	case status.CurrentStatus:
		return Ready, ""
	case status.FailedStatus:
		return Failed, r.Message
	}
	return NotReady, r.Message
}
