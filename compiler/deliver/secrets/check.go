package secrets

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/stage/validate"
)

// checkValues returns the faults of the objects of a bundle that only the values of secrets
// show, by reference: documents that a value would break, fields that would not be valid,
// and copies of a value in plain text. No fault contains a value.
func checkValues(b *fleet.Bundle, values map[string]string) error {
	var faults diag.List
	for _, o := range slices.Concat(b.Objects, b.Hooks) {
		if fleet.MayRefer(o.Object) {
			faults.Add(checkDocuments(o, values))
			faults.Add(checkFields(b.Cluster, o, values))
		}
	}
	faults.Add(checkCopies(b, values))
	return diag.In(b.Cluster.ID, faults.Err())
}

// checkDocuments returns a fault for each YAML document in a text of an object that the
// values of secrets would break.
func checkDocuments(o fleet.Object, values map[string]string) error {
	var faults diag.List
	replace := func(reference, _ string) string { return values[reference] }
	fleet.EachText(o.Object, func(path []string, text string) {
		if fleet.FitsDocument(text, replace) {
			return
		}
		names := fleet.References(text)
		faults.Add(&diag.Diag{
			At: o.Places(), Path: o.Title(),
			Msg:  fmt.Sprintf("the value of the secret %s would break the YAML document in %s (%s)", names[0], diag.Visible(fleet.FieldText(path), diag.MaxText), o.Origin()),
			Hint: "write the reference in double quotes in the document",
		})
	})
	return faults.Err()
}

// checkFields returns a fault for each field of an object that is not valid with the values
// of secrets, such as a label that is too long, or data of more than 1 MiB. Without the
// values the object is valid.
func checkFields(c *fleet.Cluster, o fleet.Object, values map[string]string) error {
	with := o
	with.Unstructured, with.Shared = fleet.WithReferences(o.Unstructured, func(reference, _ string) string { return values[reference] }), false
	var faults diag.List
	fleet.EachText(with.Object, func(path []string, text string) {
		if !utf8.ValidString(text) {
			faults.Add(&diag.Diag{
				At: o.Places(), Path: o.Title(), Hint: "write it into data of a Secret, in base64",
				Msg: fmt.Sprintf("%s is not a text with %s (%s)", orObject(path), valuesOf(secretsAt(o.Unstructured, path)), o.Origin()),
			})
		}
	})
	for _, d := range diag.All(new(validate.Checker).Alone(c, []fleet.Object{with})) {
		var field []string
		if at, ok := errors.AsType[*fleet.FieldError](d.Cause); ok {
			field = at.Field
		}
		wrong, hint := " is not valid", "choose another value, or another place for it"
		if len(field) == 1 && field[0] == "data" {
			wrong, hint = " has more than 1 MiB, which Kubernetes does not accept,", "divide the value"
		}
		names := secretsAt(o.Unstructured, field)
		fault := &diag.Diag{At: o.Places(), Path: o.Title(), Msg: orObject(field) + wrong + " with " + valuesOf(names) + " (" + o.Origin() + ")", Hint: hint}
		for _, s := range c.Secrets {
			if slices.Contains(names, s.Name) {
				fault.At = append(fault.At, s.Pos)
			}
		}
		faults.Add(fault)
	}
	return faults.Err()
}

// valuesOf returns "the value of the secret a", or that of several.
func valuesOf(names []string) string {
	if len(names) == 1 {
		return "the value of the secret " + names[0]
	}
	return "the values of the secrets " + strings.Join(names, ", ")
}

// orObject returns a field as text; "it" for the whole object.
func orObject(field []string) string {
	if len(field) == 0 {
		return "it"
	}
	return diag.Visible(fleet.FieldText(field), diag.MaxText)
}

// secretsAt returns the names of the secrets to which a field of an object refers, or those
// of the whole object.
func secretsAt(u *unstructured.Unstructured, field []string) []string {
	inside, outside := fleet.ReferringFields(u)
	var at, all []string
	for _, f := range slices.Concat(inside, outside) {
		all = append(all, f.Secret)
		if f.Field == fleet.FieldText(field) {
			at = append(at, f.Secret)
		}
	}
	if len(at) == 0 {
		at = all
	}
	slices.Sort(at)
	return slices.Compact(at)
}

// checkCopies returns a fault for each value and each object with a copy of the value of a
// secret in plain text, which all readers of the fleet can read. It searches for distinctive
// values alone: a user's name may occur by coincidence. [fleet.Plaintext] checks the data of
// Secrets.
func checkCopies(b *fleet.Bundle, values map[string]string) error {
	s := searcher{names: map[string]string{}, reported: map[secretCopy]bool{}}
	for reference, value := range values {
		if names := fleet.References(reference); fleet.IsDistinctive(value) && len(names) > 0 {
			s.names[value] = max(s.names[value], names[0])
		}
	}
	if len(s.names) == 0 {
		return nil
	}
	for _, r := range b.Cluster.Releases {
		s.tree(r, r.Values, "values")
		for i, o := range r.Objects {
			key := strconv.Itoa(i)
			if i < len(r.Keys) {
				key = fleet.FieldText(r.Keys[i : i+1])
			}
			s.tree(r, o, "objects", key)
		}
	}
	for _, o := range slices.Concat(b.Objects, b.Hooks) {
		s.object(o)
	}
	return s.faults.Err()
}

// A searcher is the state of checkCopies.
type searcher struct {
	names    map[string]string // of secrets, by value
	reported map[secretCopy]bool
	faults   diag.List
}

// secretCopy identifies a copy of a secret in a release: the objects that a value causes are one
// mistake with it.
type secretCopy struct{ release, secret string }

// tree searches the values or an object of a release as the layers set them.
func (s *searcher) tree(r *fleet.Release, t *fleet.Tree, above ...string) {
	t.EachScalar(func(path []string, scalar *fleet.Tree) {
		text, _ := scalar.Scalar.(string)
		s.text(r.Name, text, func(d *diag.Diag) {
			d.At, d.Path = []diag.Pos{scalar.Pos}, r.Path(append(slices.Clone(above), fleet.FieldText(path))...)
			d.Msg = "it" + d.Msg
		})
	})
}

// object searches a rendered object.
func (s *searcher) object(o fleet.Object) {
	fleet.EachText(o.Object, func(path []string, text string) {
		if fleet.IsSecretData(o.Unstructured, path) {
			return
		}
		s.text(o.Release.Name, text, func(d *diag.Diag) {
			d.At, d.Path = o.Places(), o.Title()
			d.Msg = diag.Visible(fleet.FieldText(path), diag.MaxText) + d.Msg + " (" + o.Origin() + ")"
		})
	})
}

// text adds a fault for each value of a secret that a text contains. complete adds the place
// to a fault whose message begins with a verb.
func (s *searcher) text(release, text string, complete func(*diag.Diag)) {
	for _, value := range slices.Sorted(maps.Keys(s.names)) {
		name := s.names[value]
		if !strings.Contains(text, value) || s.reported[secretCopy{release, name}] {
			continue
		}
		s.reported[secretCopy{release, name}] = true
		d := &diag.Diag{
			Msg:  " has the value of the secret " + name + " in plain text",
			Hint: "replace the value, which others may have read, and write secrets." + name + ".ref instead of it",
		}
		complete(d)
		s.faults.Add(d)
	}
}
