package deliver

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/stage/validate"
)

// checkValues returns the faults of the objects of a bundle that only the values of secrets
// show, by reference: documents that a value would break, and fields that would not be valid.
// No fault contains a value.
func checkValues(b *fleet.Bundle, values map[string]string) error {
	var faults diag.List
	for _, o := range slices.Concat(b.Objects, b.Hooks) {
		if fleet.MayRefer(o.Object) {
			faults.Add(checkDocuments(o, values))
			faults.Add(checkFields(b.Cluster, o, values))
		}
	}
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
			Code: diag.CodeSecretValue,
			At:   o.Places(), Path: o.Title(),
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
	resolved := o
	resolved.Unstructured, resolved.Shared = fleet.WithReferences(o.Unstructured, func(reference, _ string) string { return values[reference] }), false
	var faults diag.List
	wrong := func(field []string, what, hint string) {
		if _, ok := fleet.Lookup(o.Object, field); !ok {
			field = nil // a key of the path has a value
		}
		where, secrets := "it", "the values of the secrets "
		if len(field) > 0 {
			where = diag.Visible(fleet.FieldText(field), diag.MaxText)
		}
		names := secretsAt(o.Unstructured, field)
		if len(names) == 1 {
			secrets = "the value of the secret "
		}
		fault := &diag.Diag{Code: diag.CodeSecretValue, At: o.Places(), Path: o.Title(), Msg: where + what + " with " + secrets + strings.Join(names, ", ") + " (" + o.Origin() + ")", Hint: hint}
		for _, s := range c.Secrets {
			if slices.Contains(names, s.Name) {
				fault.At = append(fault.At, s.Pos)
			}
		}
		faults.Add(fault)
	}
	fleet.EachText(resolved.Object, func(path []string, text string) {
		if !utf8.ValidString(text) {
			wrong(path, " is not valid UTF-8", "write it into data of a Secret, in base64")
		}
	})
	for _, d := range diag.All(new(validate.Checker).Alone(c, []fleet.Object{resolved})) {
		var field []string
		if at, ok := errors.AsType[*fleet.FieldError](d.Cause); ok {
			field = at.Field
		}
		if len(field) == 1 && field[0] == "data" {
			wrong(field, " has more than 1 MiB, which Kubernetes does not accept,", "split the value into several Secrets")
		} else {
			wrong(field, " is not valid", "choose another value, or another place for it")
		}
	}
	return faults.Err()
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
	return diag.Distinct(at)
}

// checkCopies returns a fault for each value and each object with a copy of the value of a
// secret in plain text, which all readers of the fleet can read. It searches for distinctive
// values alone: a user's name may occur by coincidence. [fleet.Plaintext] checks the data of
// Secrets. No fault contains a value.
func checkCopies(b *fleet.Bundle, values map[string]string) error {
	s := searcher{names: map[string]string{}, inLayers: map[secretCopy]bool{}}
	for reference, value := range values {
		if names := fleet.References(reference); fleet.IsDistinctive(value) && len(names) > 0 {
			s.names[value] = max(s.names[value], names[0])
		}
	}
	if len(s.names) == 0 {
		return nil
	}
	s.values = slices.Sorted(maps.Keys(s.names))
	for _, r := range b.Cluster.Releases {
		s.tree(r, r.Values, "values")
		for i, o := range r.Objects {
			s.tree(r, o, "objects", r.ObjectKey(i))
		}
	}
	for _, o := range slices.Concat(b.Objects, b.Hooks) {
		s.object(o)
	}
	return diag.In(b.Cluster.ID, s.faults.Err())
}

// A searcher is the state of checkCopies.
type searcher struct {
	values   []string          // sorted
	names    map[string]string // of secrets, by value
	inLayers map[secretCopy]bool
	faults   diag.List
}

// secretCopy identifies a copy of a secret in a release. A copy in the layers also is in the
// objects that they cause, which is one mistake.
type secretCopy struct{ release, secret string }

// tree searches the values or an object of a release as the layers set them.
func (s *searcher) tree(r *fleet.Release, t *fleet.Tree, above ...string) {
	t.EachScalar(func(path []string, scalar *fleet.Tree) {
		text, _ := scalar.Scalar.(string)
		for _, value := range s.found(text) {
			s.inLayers[secretCopy{r.Name, s.names[value]}] = true
			s.report(value, []diag.Pos{scalar.Pos}, r.Path(append(slices.Clone(above), fleet.FieldText(path))...), "it", "")
		}
	})
}

// object searches a rendered object.
func (s *searcher) object(o fleet.Object) {
	reported := map[string]bool{}
	fleet.EachText(o.Object, func(path []string, text string) {
		for _, value := range s.found(text) {
			if reported[value] || s.inLayers[secretCopy{o.Release.Name, s.names[value]}] || fleet.IsSecretData(o.Unstructured, path) {
				continue
			}
			reported[value] = true
			s.report(value, o.Places(), o.Title(), diag.Visible(fleet.FieldText(path), diag.MaxText), " ("+o.Origin()+")")
		}
	})
}

// found returns the values of secrets that a text contains.
func (s *searcher) found(text string) []string {
	return diag.Filter(s.values, func(value string) bool { return strings.Contains(text, value) })
}

// report adds a fault for a copy of a value. A key or a name can contain the value, too.
func (s *searcher) report(value string, at []diag.Pos, path, field, origin string) {
	name := s.names[value]
	hidden := strings.NewReplacer(value, "VALUE")
	s.faults.Add(&diag.Diag{
		Code: diag.CodePlainText,
		At:   at, Path: hidden.Replace(path), Msg: hidden.Replace(field) + " has the value of the secret " + name + " in plain text" + hidden.Replace(origin),
		Hint: "replace the value, which others may have read, and write secrets." + name + ".ref instead of it",
	})
}
