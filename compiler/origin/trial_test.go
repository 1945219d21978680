package origin

import (
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"testing"
)

// subject renders an object from values like a template.
func subject(values map[string]any, field ...string) *Subject {
	render := func(v map[string]any) (map[string]any, error) {
		if v["required"] == nil {
			return nil, errors.New("a required value is missing")
		}
		if v["enabled"] != true {
			return nil, nil
		}
		out := map[string]any{
			"name": fmt.Sprint("app-", v["name"]), "size": v["size"], "first": nil, "kind": "small",
			"secret": base64.StdEncoding.EncodeToString([]byte(fmt.Sprint(v["password"]))),
			"labels": v["labels"],
		}
		if hosts, _ := v["hosts"].([]any); len(hosts) > 0 {
			first, _ := hosts[0].(map[string]any)
			out["first"] = first["host"]
		}
		if v["mode"] == "large" {
			out["kind"] = "large"
		}
		return out, nil
	}
	object, err := render(values)
	if err != nil {
		panic(err)
	}
	return &Subject{
		Object: object, Field: field, Values: values,
		Render: func(changes ...Change) (map[string]any, error) {
			changed := maps.Clone(values)
			for _, c := range changes {
				m := changed
				for _, key := range c.Path[:len(c.Path)-1] {
					m[key] = maps.Clone(m[key].(map[string]any))
					m = m[key].(map[string]any)
				}
				if m[c.Path[len(c.Path)-1]] = c.Value; c.Value == nil {
					delete(m, c.Path[len(c.Path)-1])
				}
			}
			return render(changed)
		},
		Same:  func(o map[string]any) bool { return o["name"] == object["name"] },
		Texts: func(name string) []string { return map[string][]string{"mode": {"large"}}[name] },
	}
}

func values() map[string]any {
	return map[string]any{
		"required": "x", "enabled": true, "name": "web", "size": 3.0, "password": "p", "mode": "", "unused": "u",
		"labels": map[string]any{"a": "b"},
		"hosts":  []any{map[string]any{"host": "one", "path": "/"}, map[string]any{"host": "two"}},
	}
}

func TestDependencies(t *testing.T) {
	always := []Dependency{{Path: []string{"enabled"}, How: Exists}, {Path: []string{"name"}, How: Exists}}
	for field, want := range map[string][]Dependency{
		"size":   {always[0], always[1], {Path: []string{"size"}, How: Holds}},
		"kind":   {always[0], {Path: []string{"mode"}, How: Changes}, always[1]},
		"secret": {always[0], always[1], {Path: []string{"password"}, How: Holds}},
		"first":  {always[0], {Path: []string{"hosts", "0", "host"}, How: Holds}, always[1]},
		"name":   {always[0], {Path: []string{"name"}, How: Holds}},
		"labels": {always[0], {Path: []string{"labels", "a"}, How: Changes}, always[1]},
	} {
		got, complete, err := subject(values(), field).Dependencies(t.Context())
		for i := range got {
			got[i].Other = nil
		}
		if err != nil || !complete || !reflect.DeepEqual(got, want) {
			t.Errorf("%s depends on %v, %v, %v, want %v", field, got, complete, err, want)
		}
	}
}

// An empty map may have members.
func TestEmptyMap(t *testing.T) {
	v := values()
	v["labels"] = map[string]any{}
	if how := subject(v, "labels").Try(t.Context(), "labels"); how != Changes {
		t.Errorf("an empty map %s the field that it is printed into", how)
	}
	if how := subject(v, "size").Try(t.Context(), "labels"); how != No {
		t.Errorf("an empty map %s another field", how)
	}
	if how := subject(v, "size").Try(t.Context(), "nowhere"); how != No {
		t.Errorf("a value that is not there %s a field", how)
	}
}

// The number of renderings is limited, and a search that was cut off is
// reported.
func TestBound(t *testing.T) {
	s := subject(values(), "size")
	s.Most = 3
	n, render := 0, s.Render
	s.Render = func(changes ...Change) (map[string]any, error) { n++; return render(changes...) }
	if _, complete, err := s.Dependencies(t.Context()); err != nil || complete || n != s.Most {
		t.Errorf("%d renderings, complete %v, %v", n, complete, err)
	}
}

// Values that no template reads are not tried.
func TestReads(t *testing.T) {
	s := subject(values(), "size")
	s.Reads = func(path []string) bool { return path[0] == "size" }
	render := s.Render
	s.Render = func(changes ...Change) (map[string]any, error) {
		if len(changes) != 1 || changes[0].Path[0] != "size" {
			t.Errorf("%v are changed", changes)
		}
		return render(changes...)
	}
	if got, _, err := s.Dependencies(t.Context()); err != nil || len(got) != 1 {
		t.Errorf("depends on %v, %v", got, err)
	}
}
