package export

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// TestSecretsOfValues checks that an export for Flux or Argo CD needs permission for
// the values of a release that Helm delivers when its chart has a Secret, also one
// without readable value.
func TestSecretsOfValues(t *testing.T) {
	values := fleet.Map(map[string]*fleet.Tree{"password": {Scalar: "x"}})
	for name, test := range map[string]struct {
		layout  fleet.Layout
		by      fleet.Delivery
		kind    string
		values  *fleet.Tree
		allowed string
		want    string
	}{
		"a Secret":             {fleet.FluxLayout, fleet.ByHelm, "Secret", values, "", "can read the values"},
		"for Argo CD":          {fleet.ArgoLayout, fleet.ByHelm, "Secret", values, "", "can read the values"},
		"allowed":              {fleet.FluxLayout, fleet.ByHelm, "Secret", values, "values", ""},
		"plain":                {fleet.PlainLayout, fleet.ByHelm, "Secret", values, "", ""},
		"plain and allowed":    {fleet.PlainLayout, fleet.ByHelm, "Secret", values, "values", ""},
		"no Secret":            {fleet.FluxLayout, fleet.ByHelm, "ConfigMap", values, "", ""},
		"allowed without need": {fleet.FluxLayout, fleet.ByHelm, "ConfigMap", values, "values", "values has no readable value"},
		"no values":            {fleet.FluxLayout, fleet.ByHelm, "Secret", fleet.Map(nil), "", ""},
		"manifests":            {fleet.FluxLayout, fleet.ByManifests, "Secret", values, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := &fleet.Release{Name: "app", Delivery: test.by, Values: test.values, Pos: diag.Pos{File: "app.cue", Line: 1, Col: 1}}
			if test.allowed != "" {
				r.Plaintext = []fleet.Waiver{{Path: test.allowed}}
			}
			b := &fleet.Bundle{Cluster: &fleet.Cluster{Releases: []*fleet.Release{r}}, Hooks: []fleet.Object{made(r, "v1", test.kind, "made")}}
			err := CheckExposedSecrets(b, test.layout)
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(fmt.Sprint(err), test.want) {
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
}
