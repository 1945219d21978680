package diff

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/fleetc/fleetc/compiler/base/kube"
)

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
		olds, news, ok := kube.ListSelectors(test.field, list(test.before), list(test.after), scalar)
		got := strings.Join(olds, " ")
		if !ok {
			got = "none"
		}
		if got != test.olds || ok && strings.Join(news, " ") != test.news {
			t.Errorf("%s of %s and %s: %s and %s, want %s and %s", test.field, test.before, test.after, got, news, test.olds, test.news)
		}
	}
}
