package importer

import (
	"cmp"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// values returns the values of a HelmRelease as helm-controller merges them: those of
// valuesFrom in order, then spec.values. A value for a targetPath is set in place, so that
// it also changes the maps and lists that the result shares with spec.values, and these
// are merged last. unproven says which part is unknown.
func (s *fluxState) values(o *fluxObject) (values map[string]any, unproven string, err error) {
	own := copyMap(mapAt(o.content, "spec", "values"))
	result := map[string]any{}
	for i, ref := range listAt(o.content, "spec", "valuesFrom") {
		at := "spec.valuesFrom." + strconv.Itoa(i)
		key := cmp.Or(textAt(ref, "valuesKey"), "values.yaml")
		title := textAt(ref, "kind") + " " + textAt(ref, "name")
		source := s.byID[textAt(ref, "kind")+". "+o.namespace()+"/"+textAt(ref, "name")]
		if source == nil {
			if isTrueAt(ref, "optional") {
				continue
			}
			unproven = "the repository has no " + title + " with values"
			s.model.Note(s.note(o, "spec.valuesFrom", unproven+": write the values into the release", strconv.Itoa(i)))
			continue
		}
		data, encrypted := stringData(source.content)
		value, ok := data[key]
		target := textAt(ref, "targetPath")
		literal := isTrueAt(ref, "literal")
		name := s.byRelease[o.key()]
		switch {
		case encrypted[key]:
			why := "all values are encrypted as one string, which fleetc cannot split: write them into a file whose values sops encrypts one by one, and refer to these as docs/secrets.md shows"
			if target != "" {
				value, why = s.encryptedValue(source, key, name, target)
				literal = true
			}
			if why != "" {
				unproven = "the values in " + title + " are encrypted"
				s.model.Note(s.note(o, "spec.valuesFrom", unproven+": "+why, strconv.Itoa(i)))
				continue
			}
		case !ok && isTrueAt(ref, "optional"):
			continue
		case !ok:
			return nil, "", s.fault(diag.CodeImportInvalid, o, at, title+" has no key "+key, "correct valuesKey")
		}
		if target != "" {
			result = fleet.MergeValues(result, own)
			if err := setTarget(result, target, value, literal); err != nil {
				unproven = "the value for " + target + " is not imported"
				s.model.Note(Note{Pos: s.at(o, strings.Split(at, ".")...), Doc: o.title(), Field: "spec.valuesFrom.targetPath", Do: err.Error() + ": write the value into the release"})
			}
			continue
		}
		more, unknown, err := s.valuesText(source, key, value, name)
		if err != nil {
			return nil, "", s.fault(diag.CodeImportInvalid, o, at, title+" "+key+": "+diag.All(err)[0].Msg, "correct the values")
		}
		unproven = cmp.Or(unproven, unknown)
		result = fleet.MergeValues(result, more)
	}
	return fleet.MergeValues(result, own), unproven, nil
}

// valuesText returns the values in the text of a key of a ConfigMap or Secret. Those of a
// file that SOPS encrypted are references to secrets, whose names begin with that of the
// release.
func (s *fluxState) valuesText(source *fluxObject, key, text, release string) (values map[string]any, unproven string, err error) {
	if err := yaml.Unmarshal([]byte(text), &values); err != nil {
		return nil, "", &diag.Diag{Code: diag.CodeImportInvalid, Msg: "not valid YAML: " + yamlReason(err)}
	}
	if !isEncryptedFile(text) {
		return values, "", nil
	}
	return s.encryptedValues(source, key, text, release)
}

// setTarget sets the value at a targetPath in place. Flux takes a value in quotes as text.
func setTarget(values map[string]any, target, value string, literal bool) error {
	for _, quote := range []string{"'", `"`} {
		if len(value) > 1 && strings.HasPrefix(value, quote) && strings.HasSuffix(value, quote) && !literal {
			return setValue(values, target, strings.Trim(value, `'"`), true)
		}
	}
	return setValue(values, target, value, literal)
}
