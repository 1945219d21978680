package source

import (
	"strings"
	"testing"
)

func TestShorten(t *testing.T) {
	const nested = `accumulating resources: accumulation err='accumulating resources from '../mid': is not a file': recursed accumulation of path '/mid': ` +
		`accumulating components: accumulateDirectory: "recursed accumulation of path '/mid/comp': no resource matches strategic merge patch \"Deployment.v1.apps/b.[noNs]\": more"`
	for _, test := range []struct{ text, short, dir string }{
		{"plain", "plain", ""},
		{nested, `no resource matches strategic merge patch "Deployment.v1.apps/b.[noNs]": more`, "mid/comp"},
		{`accumulating resources: accumulation err='accumulating resources from '../base': is not a file': recursed merging from path '/base': may not add resource`, "may not add resource", ""},
		{`accumulating resources: accumulation err='accumulating resources from 'x.yaml': wrong: very': must build at directory: '/a/x.yaml': file is not directory`, "wrong: very", ""},
		{"merging from generator &{0x28ad48d97c70 <nil>}: id x does not exist", "id x does not exist", ""},
		{"trouble configuring builtin PatchTransformer with config: ` patch: foo `: unable to parse '/a/p.yaml'", "PatchTransformer: unable to parse 'a/p.yaml'", ""},
		{"loading generator plugins: failed to load generator: no", "no", ""},
		{strings.Repeat("é", 300), strings.Repeat("é", 200) + "...", ""},
	} {
		if got := shorten(test.text); got != test.short {
			t.Errorf("shorten(%s) = %s", test.text, got)
		}
		if got := innermost(test.text); got != test.dir {
			t.Errorf("innermost(%s) = %s", test.text, got)
		}
	}
}

func TestObject(t *testing.T) {
	for id, want := range map[string]string{
		"Deployment.v1.apps/b.[noNs]":          "Deployment b",
		"Service.v1.[noGrp]/a.b.front":         "Service front/a.b",
		"Service.[noVer].[noGrp]/x.[noNs]":     "Service x",
		"something":                            "something",
		"CustomResourceDefinition.v1.x/a.b.c.": "CustomResourceDefinition /a.b.c",
	} {
		if got := object(id); got != want {
			t.Errorf("object(%s) = %s", id, got)
		}
	}
}
