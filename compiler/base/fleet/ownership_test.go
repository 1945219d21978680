package fleet

import (
	"reflect"
	"testing"
)

func TestParseSteps(t *testing.T) {
	key := func(k string) Step { return Step{Key: k} }
	for text, want := range map[string][]Step{
		"spec.replicas":                          {key("spec"), key("replicas")},
		`data."tls.crt"`:                         {key("data"), key("tls.crt")},
		"spec.containers[name=a].image":          {key("spec"), key("containers"), {Fields: map[string]string{"name": "a"}}, key("image")},
		`ports[containerPort=80,protocol="TCP"]`: {key("ports"), {Fields: map[string]string{"containerPort": "80", "protocol": "TCP"}}},
		`a[b="x]y"][c=d]`:                        {key("a"), {Fields: map[string]string{"b": "x]y"}}, {Fields: map[string]string{"c": "d"}}},
		"":                                       {}, ".": nil, "a.": nil, ".a": nil, "a..b": nil, "[a=b]": nil, "a[0]": nil, "a[": nil, "a[b": nil, "a[b=": nil,
		"a[b=c": nil, "a[b=c,]": nil, "a[b=c,b=d]": nil, "a[]": nil, "a.[b=c]": nil, "a[b=c]d": nil, `a"b"`: nil, `"a`: nil, `""`: nil,
	} {
		got, ok := ParseSteps(text)
		if len(want) == 0 {
			if ok {
				t.Errorf("%q is %v", text, got)
			}
			continue
		}
		if !ok || !reflect.DeepEqual(got, want) {
			t.Errorf("%q is %v, %v, want %v", text, got, ok, want)
		}
		if again, ok := ParseSteps(StepsText(got)); !ok || !reflect.DeepEqual(again, got) {
			t.Errorf("%q is written as %q, which is %v", text, StepsText(got), again)
		}
	}
}

func FuzzParseSteps(f *testing.F) {
	f.Add(`spec.containers[name="a b",x=1].image."b.c"`)
	f.Fuzz(func(t *testing.T, text string) {
		path, ok := ParseSteps(text)
		if !ok {
			return
		}
		again, ok := ParseSteps(StepsText(path))
		if !ok || !reflect.DeepEqual(again, path) {
			t.Errorf("%q is %v, written as %q, read as %v", text, path, StepsText(path), again)
		}
	})
}

func TestElements(t *testing.T) {
	o := map[string]any{"spec": map[string]any{"list": []any{
		map[string]any{"name": "a", "port": int64(80), "x": "1"}, map[string]any{"name": "b", "x": "2"}, "text",
	}}}
	for text, want := range map[string][]any{
		"spec.list[name=a].x":         {"1"},
		"spec.list[name=a,port=80].x": {"1"},
		"spec.list[name=a,port=81].x": nil,
		"spec.list[name=c]":           nil,
		"spec.list.x":                 nil,
		"spec.none":                   nil,
	} {
		path, ok := ParseSteps(text)
		if got := Elements(o, path); !ok || !reflect.DeepEqual(got, want) {
			t.Errorf("%s leads to %v, want %v", text, got, want)
		}
	}
}
