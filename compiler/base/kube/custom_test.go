package kube

import (
	"slices"
	"testing"
)

// TestCustom looks up fields of common custom resources.
func TestCustom(t *testing.T) {
	gvk, s, known := Custom("HTTPRoute")
	if !known || gvk.Group != "gateway.networking.k8s.io" {
		t.Fatalf("HTTPRoute: %v %v", gvk, known)
	}
	rule := s.Fields["spec"].Fields["rules"].Elem
	if match := rule.Fields["matches"].Elem; match == nil || match.Fields["path"].Fields["value"].Type != String || !match.Growing {
		t.Errorf("matches of a rule: %+v", rule.Fields["matches"])
	}
	if _, s, _ := Custom("ServiceMonitor"); s.Fields["spec"].Fields["endpoints"].Elem.Fields["port"].Type != String {
		t.Errorf("endpoints of a ServiceMonitor: %+v", s)
	}
	if _, _, known := Custom("Deployment"); known {
		t.Error("a Deployment is a custom resource")
	}
	if got := CustomKinds("monitoring.coreos.com"); !slices.Equal(got, []string{"PodMonitor", "Probe", "PrometheusRule", "ServiceMonitor"}) {
		t.Errorf("kinds of Prometheus: %v", got)
	}
}
