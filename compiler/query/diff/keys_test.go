package diff

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// TestFieldKeysAreThoseOfKubernetes checks every list of Kubernetes types that
// has a merge key.
func TestFieldKeysAreThoseOfKubernetes(t *testing.T) {
	seen := map[reflect.Type]bool{}
	var lists int
	var walk func(typ reflect.Type)
	walk = func(typ reflect.Type) {
		for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice || typ.Kind() == reflect.Map {
			typ = typ.Elem()
		}
		if typ.Kind() != reflect.Struct || seen[typ] {
			return
		}
		seen[typ] = true
		for f := range typ.Fields() {
			walk(f.Type)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			key := f.Tag.Get("patchMergeKey")
			if key == "" || f.Type.Elem().Kind() != reflect.Struct {
				continue
			}
			lists++
			if !slices.ContainsFunc(fieldKeys(name), func(k mergeKey) bool { return len(k) == 1 && k[0] == key }) {
				t.Errorf("%s.%s: the key of %s is %s, and not one of %v", typ, f.Name, name, key, fieldKeys(name))
			}
		}
	}
	for _, v := range []any{
		corev1.Pod{},
		corev1.Service{},
		corev1.Node{},
		corev1.ServiceAccount{},
		corev1.PersistentVolumeClaim{},
		corev1.Namespace{},
		corev1.ReplicationController{},
		appsv1.Deployment{},
		appsv1.StatefulSet{},
		appsv1.DaemonSet{},
		appsv1.ReplicaSet{},
		batchv1.CronJob{},
		admissionv1.ValidatingWebhookConfiguration{},
		admissionv1.MutatingWebhookConfiguration{},
		admissionv1.ValidatingAdmissionPolicy{},
	} {
		walk(reflect.TypeOf(v))
	}
	if lists < 30 {
		t.Errorf("only %d lists have keys", lists)
	}
}

func TestSelectors(t *testing.T) {
	for _, test := range []struct{ field, before, after, olds, news string }{
		{"env", `[{"name":"A"},{"name":"B"}]`, `[{"name":"B"}]`, "name=A name=B", "name=B"},
		{"env", `[]`, `[{"name":"B"}]`, "", "name=B"},
		{"env", `[{"name":"A"},{"name":"A"}]`, `[]`, "none", ""},
		{"env", `[{"name":"A"},{}]`, `[]`, "none", ""},
		{"env", `[{"name":"A"},"A"]`, `[]`, "none", ""},
		{"env", `[{"name":null}]`, `[]`, "none", ""},
		{"args", `["a"]`, `["b"]`, "none", ""},
		{"args", `[]`, `["b"]`, "none", ""},
		{"ports", `[{"containerPort":80,"name":"http"}]`, `[{"containerPort":81,"name":"http"}]`, "name=http", "name=http"},
		{"ports", `[{"containerPort":80,"name":"a"}]`, `[{"containerPort":81,"name":"b"}]`, "containerPort=80", "containerPort=81"},
		{"ports", `[{"containerPort":80,"name":"a"},{"containerPort":1}]`, `[{"containerPort":81,"name":"a"},{"containerPort":1}]`, "containerPort=80 containerPort=1", "containerPort=81 containerPort=1"},
		{"rules", `[{"host":"a"}]`, `[{"host":"b"}]`, "none", ""},
		{"rules", `[{"host":"a"},{"host":"c"}]`, `[{"host":"b"},{"host":"c"}]`, "host=a host=c", "host=b host=c"},
		{"ports", `[{"port":53,"protocol":"UDP"},{"port":53}]`, `[]`, "port=53,protocol=UDP port=53,protocol=TCP", ""},
		// Both sides use the same key.
		{"ports", `[{"port":53,"protocol":"UDP"},{"port":53}]`, `[{"port":53}]`, "port=53,protocol=UDP port=53,protocol=TCP", "port=53,protocol=TCP"},
		{"volumeMounts", `[{"mountPath":"/a","name":"x"},{"mountPath":"/b c","name":"x"}]`, `[]`, `mountPath=/a mountPath="/b c"`, ""},
		{"topologySpreadConstraints", `[{"topologyKey":"z","whenUnsatisfiable":"A"},{"topologyKey":"z","whenUnsatisfiable":"B"}]`, `[]`, "topologyKey=z,whenUnsatisfiable=A topologyKey=z,whenUnsatisfiable=B", ""},
		// A string and a number are different keys.
		{"things", `[{"id":1},{"id":"1"},{"id":true},{"id":"true"}]`, `[]`, `id=1 id="1" id=true id="true"`, ""},
		{"things", `[{"id":"a]b"},{"id":"a,b=c"}]`, `[]`, `id="a]b" id="a,b=c"`, ""},
		// The first unique key.
		{"things", `[{"name":"a","path":"/a"},{"name":"a","path":"/b"}]`, `[]`, `path=/a path=/b`, ""},
	} {
		list := func(text string) (out []any) {
			if err := json.Unmarshal([]byte(text), &out); err != nil {
				t.Fatal(err)
			}
			return out
		}
		olds, news, ok := selectors(test.field, list(test.before), list(test.after))
		got := strings.Join(olds, " ")
		if !ok {
			got = "none"
		}
		if got != test.olds || ok && strings.Join(news, " ") != test.news {
			t.Errorf("%s of %s and %s: %s and %s, want %s and %s", test.field, test.before, test.after, got, news, test.olds, test.news)
		}
	}
}
