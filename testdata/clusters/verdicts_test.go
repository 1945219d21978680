package clusters

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// acceptedByServer are the objects that fleetc rejects and this server accepts, at
// all or when they are created or applied, with reasons.
var acceptedByServer = map[string]string{
	"field-of-a-newer-version":    "fleetc refuses it for a cluster of 1.33, this one is newer",
	"long-enum":                   "the server drops the field unless a feature is on",
	"image-with-a-space":          "the server takes it in a template and refuses its pods",
	"create variable-twice":       twice,
	"create container-port-twice": twice,
	"create finalizer-twice":      twice,
	"create pull-secret-twice":    twice,
}

const twice = "only apply, which is what fleetc does, goes by the keys of lists"

// rejectedByServer are the objects that fleetc accepts and this server rejects,
// with reasons.
var rejectedByServer = map[string]string{}

// A real server with strict field validation agrees with fleetc's validation
// without a server, when objects are created and applied. It rejects objects for
// their own faults, and not because of other objects in the cluster.
func TestVerdicts(t *testing.T) {
	c := shared.Cluster("green")
	kubectl(t, c, "create", "namespace", "front")
	waitFor(t, c, "front", "create", "serviceaccount/default")
	r := &resources{c: c, known: map[string]map[string]resource{}}
	for _, test := range []struct {
		file       string
		takes      bool
		exceptions map[string]string
	}{
		{"bad.yaml", false, acceptedByServer},
		{"good.yaml", true, rejectedByServer},
	} {
		t.Run(test.file, func(t *testing.T) {
			seen := map[string]bool{}
			docs := documents(t, "../../compiler/stage/validate/testdata/"+test.file)
			if len(docs) < 40 {
				t.Errorf("only %d objects", len(docs))
			}
			for _, o := range docs {
				for _, verb := range []string{"create", "apply"} {
					always, one := o.Metadata.Name, verb+" "+o.Metadata.Name
					seen[always], seen[one] = true, true
					status, message := r.dryRun(t, verb, o)
					exception := test.exceptions[always] != "" || test.exceptions[one] != ""
					if test.takes == exception && !isInvalid(status, message) || test.takes != exception && status >= 300 {
						t.Errorf("%s %s %s: status %d: %s", verb, o.Kind, o.Metadata.Name, status, message)
					}
				}
			}
			for name := range test.exceptions {
				if !seen[name] {
					t.Errorf("nothing is called %s", name)
				}
			}
		})
	}
}

// isInvalid reports whether the response rejects the object. For an object that
// cannot be applied at all, the server reports an internal error.
func isInvalid(status int, message string) bool {
	switch status {
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		return true
	case http.StatusInternalServerError:
		return strings.HasPrefix(message, "failed to create typed patch object") || strings.HasPrefix(message, "failed to convert new object")
	}
	return false
}

// document is an object of the file as fleetc reads it.
type document struct {
	APIVersion, Kind string
	Metadata         struct{ Name, GenerateName, Namespace string }
	text             []byte // JSON
}

func documents(t *testing.T, file string) []document {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all []document
	for _, doc := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n---\n") {
		var o document
		if o.text, err = yaml.YAMLToJSON([]byte(doc)); err == nil {
			err = json.Unmarshal(o.text, &o)
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, doc)
		}
		all = append(all, o)
	}
	return all
}

// resource is the API resource of a kind.
type resource struct {
	Name, Kind string
	Namespaced bool
}

type resources struct {
	c     *Cluster
	known map[string]map[string]resource // by API version and kind
}

// dryRun sends an object to the server without storing it.
func (r *resources) dryRun(t *testing.T, verb string, o document) (status int, message string) {
	t.Helper()
	path, ok := r.path(t, o)
	if !ok {
		return http.StatusNotFound, "no such kind"
	}
	method, contentType, name := http.MethodPost, "application/json", ""
	if verb == "apply" {
		method, contentType, name = http.MethodPatch, "application/apply-patch+yaml", "/"+o.Metadata.Name
	}
	status, answer, err := r.c.Do(t.Context(), method, path+name+"?dryRun=All&fieldValidation=Strict&fieldManager=fleetc", contentType, o.text)
	if err != nil {
		t.Fatal(err)
	}
	var said struct{ Message string }
	if err := json.Unmarshal(answer, &said); err != nil {
		t.Fatalf("%v in %s", err, answer)
	}
	return status, said.Message
}

// path returns the path of objects of the kind, and false when the server does not
// know the kind.
func (r *resources) path(t *testing.T, o document) (string, bool) {
	t.Helper()
	base := "/apis/" + o.APIVersion
	if !strings.Contains(o.APIVersion, "/") {
		base = "/api/" + o.APIVersion
	}
	if r.known[base] == nil {
		status, answer, err := r.c.Do(t.Context(), http.MethodGet, base, "application/json", nil)
		if err != nil {
			t.Fatal(err)
		}
		if status != http.StatusOK {
			return "", false
		}
		var list struct{ Resources []resource }
		if err := json.Unmarshal(answer, &list); err != nil {
			t.Fatal(err)
		}
		r.known[base] = map[string]resource{}
		for _, of := range list.Resources {
			if !strings.Contains(of.Name, "/") {
				r.known[base][of.Kind] = of
			}
		}
	}
	of, ok := r.known[base][o.Kind]
	if ok && of.Namespaced {
		namespace := o.Metadata.Namespace
		if namespace == "" {
			namespace = "front"
		}
		base += fmt.Sprintf("/namespaces/%s", namespace)
	}
	return base + "/" + of.Name, ok
}
