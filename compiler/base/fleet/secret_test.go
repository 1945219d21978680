package fleet

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestPlaintext(t *testing.T) {
	const sealed = "ENC[AES256_GCM,data:aaaa,iv:bbbb,tag:cccc,type:str]"
	for name, c := range map[string]struct {
		kind   string
		fields map[string]any
		want   []string
	}{
		"nothing":            {"Secret", nil, nil},
		"empty":              {"Secret", map[string]any{"data": map[string]any{"a": "", "b": nil}, "stringData": map[string]any{"c": " \n"}}, nil},
		"values":             {"Secret", map[string]any{"data": map[string]any{"b": "eA==", "a": "eA=="}, "stringData": map[string]any{"x.y": "z"}}, []string{"data.a", "data.b", `stringData."x.y"`}},
		"no text":            {"Secret", map[string]any{"stringData": map[string]any{"a": int64(1)}}, []string{"stringData.a"}},
		"no base64":          {"Secret", map[string]any{"data": map[string]any{"a": "%"}}, []string{"data.a"}},
		"encrypted":          {"Secret", map[string]any{"sops": map[string]any{"mac": sealed}, "data": map[string]any{"a": sealed}, "stringData": map[string]any{"a": sealed + "\n"}}, nil},
		"without SOPS":       {"Secret", map[string]any{"data": map[string]any{"a": sealed}}, []string{"data.a"}},
		"another ENC":        {"Secret", map[string]any{"sops": map[string]any{"mac": sealed}, "data": map[string]any{"a": "ENC[x]"}}, []string{"data.a"}},
		"no MAC":             {"Secret", map[string]any{"sops": map[string]any{"mac": "x"}, "data": map[string]any{"a": sealed}}, []string{"data.a"}},
		"half encrypted":     {"Secret", map[string]any{"sops": map[string]any{"mac": sealed}, "stringData": map[string]any{"a": sealed + " x", "b": "x " + sealed}}, []string{"stringData.a", "stringData.b"}},
		"reference":          {"Secret", map[string]any{"data": map[string]any{"a": "KChmbGVldGM6YUAwMTIpKQ=="}, "stringData": map[string]any{"b": "((fleetc:b))"}}, nil},
		"around references":  {"Secret", map[string]any{"stringData": map[string]any{"a": "postgres://u:((fleetc:a))@((fleetc:b))/db"}}, nil},
		"beside a reference": {"Secret", map[string]any{"stringData": map[string]any{"a": "((fleetc:a)) ghp_0123456789012345678901234567890123ab"}}, []string{"stringData.a"}},
		"not a reference":    {"Secret", map[string]any{"stringData": map[string]any{"a": "((fleetc:a b))", "b": "((fleetc:a)"}}, []string{"stringData.a", "stringData.b"}},
		"another reference":  {"Secret", map[string]any{"stringData": map[string]any{"a": "((vault:a))"}}, []string{"stringData.a"}},
		"another kind":       {"ConfigMap", map[string]any{"data": map[string]any{"a": "x"}}, nil},
		"no map":             {"Secret", map[string]any{"data": "x"}, nil},
	} {
		u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": c.kind}}
		for k, v := range c.fields {
			u.Object[k] = v
		}
		if got := Plaintext(u); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	if Plaintext(nil) != nil || IsEncrypted(nil) {
		t.Error("nothing has values")
	}
	if u := (&unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Secret", "sops": map[string]any{}}}); !IsEncrypted(u) {
		t.Error("a Secret of SOPS is not known")
	}
}

// A copy of a Secret in a text is found in each form that tools write, and values of a
// SealedSecret that nothing has encrypted.
func TestPlaintextCopies(t *testing.T) {
	for text, want := range map[string]bool{
		`{"kind":"Secret","apiVersion":"v1","data":{"a":"eA=="}}`: true,
		` {"data":{"a":"eA=="}}`:                                  true,
		`{"stringData":{"a":"x"}}`:                                true,
		`[{"stringData":{"a":"x"}}]`:                              true,
		`{"kind":"List","apiVersion":"v1","items":[{"kind":"Secret","apiVersion":"v1","data":{"a":"eA=="}}]}`: true,
		`{"kind":"ConfigMap","apiVersion":"v1","data":{"a":"x"}}`:                                             false,
		`{"kind":"Secret","apiVersion":"v1","data":{"a":""}}`:                                                 false,
		`{"a":"b"}`: false,
		`{`:         false,
		`data`:      false,
	} {
		u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Secret"}}
		u.SetAnnotations(map[string]string{"a": text})
		if got := len(Plaintext(u)) > 0; got != want {
			t.Errorf("%s: %t", text, got)
		}
	}
	sealed := b64("\x00\x80" + strings.Repeat("x", 128+16))
	for text, want := range map[string]bool{
		sealed: false, sealed[:76] + "\n" + sealed[76:] + "\n": false, "": false, "hunter2": true, "pass word!": true,
		b64("hunter2"): true, "plainhunter2": true, b64("\x00\x80" + strings.Repeat("x", 128)): true, b64(strings.Repeat("\x00", 200)): true,
	} {
		u := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "bitnami.com/v1alpha1", "kind": "SealedSecret", "spec": map[string]any{"encryptedData": map[string]any{"a": text}},
		}}
		if got := len(Plaintext(u)) > 0; got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
}

// A value of a Secret is also found in its metadata, however simple it is, and a literal
// secret in the template of an ExternalSecret.
func TestPlaintextWords(t *testing.T) {
	type object = map[string]any
	secret := func(value, label, annotation string) object {
		return object{
			"apiVersion": "v1", "kind": "Secret", "stringData": object{"a": value},
			"metadata": object{"labels": object{"l": label}, "annotations": object{"n": annotation}},
		}
	}
	external := func(data object) object {
		return object{"apiVersion": "external-secrets.io/v1", "kind": "ExternalSecret", "spec": object{"target": object{"template": object{"data": data}}}}
	}
	for name, test := range map[string]struct {
		object object
		want   []string
	}{
		"a word in both":         {secret("hunter2", "hunter2", "user:hunter2,x"), []string{"metadata.annotations.n", "metadata.labels.l", "stringData.a"}},
		"a part of a word":       {secret("hunter2", "hunter22", "xhunter2"), []string{"stringData.a"}},
		"a short value":          {secret("web", "web", "web"), []string{"stringData.a"}},
		"a switch":               {secret("false", "false", "false"), []string{"stringData.a"}},
		"the template of sealed": {object{"apiVersion": "bitnami.com/v1alpha1", "kind": "SealedSecret", "metadata": object{"annotations": object{"n": "hunter2"}}, "spec": object{"template": object{"data": object{"a": "hunter2"}, "metadata": object{"labels": object{"l": "hunter2"}}}}}, []string{"metadata.annotations.n", "spec.template.data.a", "spec.template.metadata.labels.l"}},
		"a literal password":     {external(object{"DB_PASSWORD": "hunter2", "apiKey": "abc"}), []string{"spec.target.template.data.DB_PASSWORD", "spec.target.template.data.apiKey"}},
		"a literal token":        {external(object{"config": "auth: ghp_0123456789012345678901234567890123"}), []string{"spec.target.template.data.config"}},
		"templates and settings": {external(object{"password": "{{ .password }}", "url": "https://example.com/a", "type": "git", "tokenSecret": "/run/token", "enable-token": "true", "username": "admin"}), nil},
		"of the cluster": {
			object{"apiVersion": "external-secrets.io/v1beta1", "kind": "ClusterExternalSecret", "spec": object{"externalSecretSpec": object{"target": object{"template": object{"data": object{"password": "hunter2"}}}}}},
			[]string{"spec.externalSecretSpec.target.template.data.password"},
		},
		"no template": {object{"apiVersion": "external-secrets.io/v1", "kind": "ExternalSecret", "spec": object{"target": object{"name": "a"}}}, nil},
	} {
		if got := Plaintext(&unstructured.Unstructured{Object: test.object}); !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
