package export

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/stage/secret"
)

// CheckExposedSecrets returns a fault for each Secret with values that the export would expose
// without the release's permission, and for unused permissions. The bundle is not encrypted
// yet: values that the export encrypts are not exposed. The faults do not contain the
// values. Where Helm gets the values of a release in plain text, the Secrets that its chart
// renders are exposed too.
func CheckExposedSecrets(b *fleet.Bundle, layout fleet.Layout) error {
	var faults diag.List
	needed := map[*fleet.Release]map[string]bool{}
	faults.Add(helmValues(b, layout, needed))
	faults.Add(references(b, layout))
	for _, o := range b.Objects {
		fields, lost := fleet.Plaintext(o.Unstructured), lostValues(b.Cluster, layout, o)
		if o.Encryption(b.Cluster, layout) != fleet.NoEncryption {
			fields = slices.DeleteFunc(fields, func(field string) bool {
				return strings.HasPrefix(field, "data.") || strings.HasPrefix(field, "stringData.")
			})
		}
		if faults.Add(lost); len(fields) == 0 && lost == nil {
			continue
		}
		name := "Secret/" + o.GetName()
		if needed[o.Release] == nil {
			needed[o.Release] = map[string]bool{}
		}
		needed[o.Release][name] = true
		if lost != nil || slices.ContainsFunc(o.Release.Plaintext, func(w fleet.Waiver) bool { return w.Path == name }) {
			continue
		}
		fields[0] = diag.Visible(fields[0], diag.MaxText)
		faults.Add(&diag.Diag{
			Code: diag.CodeSecretExposed,
			At:   o.Places(), Path: o.Title(), Msg: "anyone who reads the export can read " + diag.JoinFirst(fields, 1) + " (" + o.Origin() + ")",
			Hint: "keep the value elsewhere, with External Secrets, Sealed Secrets or SOPS, or allow it: " +
				o.Release.Path("plaintext") + ": " + strconv.Quote(name) + `: "why"`,
		})
	}
	for _, r := range b.Cluster.Releases {
		for _, w := range r.Plaintext {
			if !needed[r][w.Path] {
				faults.Add(&diag.Diag{
					Code: diag.CodeUnusedRule,
					At:   []diag.Pos{w.Pos}, Path: r.Path("plaintext"),
					Msg:  w.Path + " has no readable value, or does not exist",
					Hint: "remove this line, or write it in the layers that need it",
				})
			}
		}
	}
	return faults.Err()
}

// lostValues returns a fault for each value of a Secret that an export cannot keep, because it
// cannot read the value in the previous export.
func lostValues(c *fleet.Cluster, layout fleet.Layout, o fleet.Object) error {
	var faults diag.List
	for _, k := range o.Kept {
		why, encryption := "the export has a SealedSecret or ExternalSecret in place of the Secret", o.Encryption(c, layout)
		switch {
		case !strings.HasPrefix(k.Object, "Secret/"):
			continue
		case encryption == fleet.SOPSEncryption && len(k.Field) == 1:
			why = "its keys differ in every rendering"
		case encryption != fleet.SealedEncryption && fleet.IsSecret(o.Unstructured):
			continue
		}
		faults.Add(&diag.Diag{
			Code: diag.CodeRandomRule,
			At:   []diag.Pos{k.Pos}, Path: o.Release.Path("random"),
			Msg:  "an export cannot keep " + k.Object + " " + fleet.FieldText(k.Field) + ": " + why,
			Hint: "set a value of the chart that fixes it, such as the reference of a secret",
		})
	}
	return faults.Err()
}

// references returns a fault for each object that refers to a secret and that the export
// cannot encrypt: only an apply by fleetc inserts its value.
func references(b *fleet.Bundle, layout fleet.Layout) error {
	var faults diag.List
	if len(b.Cluster.Secrets) == 0 {
		return nil
	}
	live, external := map[string]bool{}, map[string]bool{}
	for _, s := range b.Cluster.Secrets {
		live[s.Name], external[s.Name] = s.Live != nil, s.External != nil
	}
	for _, o := range b.Objects {
		inside, outside := fleet.ReferringFields(o.Unstructured)
		fields := slices.Concat(inside, outside)
		isExternal := func(f fleet.ReferringField) bool { return external[f.Secret] }
		if len(fields) == 0 || slices.ContainsFunc(fields, isExternal) { // an external secret left here has its own fault
			continue
		}
		name, hint := fields[0].Secret, "apply the cluster with fleetc apply, and set gitops: layouts: []"
		i := slices.IndexFunc(fields, func(f fleet.ReferringField) bool { return live[f.Secret] })
		switch {
		case i >= 0:
			name = fields[i].Secret
			hint = "its value is only in the cluster: give it another source, or " + hint
		case o.Encryption(b.Cluster, layout) != fleet.NoEncryption:
			continue
		case len(outside) > 0 || o.Release.Delivery == fleet.ByHelm:
			hint += "; or refer to the secret in the data of a Secret that Helm does not deliver"
		default:
			hint = howToEncrypt(layout)
		}
		faults.Add(&diag.Diag{
			Code: diag.CodeSecretNotEncrypted,
			At:   secret.ReferringPlaces(o, name), Path: o.Title(), Msg: fmt.Sprintf("an export cannot contain the secret %s (%s)", name, o.Origin()), Hint: hint,
		})
	}
	return faults.Err()
}

// howToEncrypt returns the hint for a cluster without keys to encrypt for.
func howToEncrypt(layout fleet.Layout) string {
	const sealed = "the certificate of its Sealed Secrets controller (cluster: sealedSecrets: cert: ...)"
	if layout == fleet.FluxLayout {
		return `set the public age keys of the cluster, for which the export encrypts: cluster: sops: age: ["age1..."], or ` + sealed
	}
	return "set " + sealed + ", or take the secret from a store: external: {...}, or apply the cluster with fleetc apply, and set gitops: layouts: []"
}

// valuesOf is the permission of a release to expose its values.
const valuesOf = "values"

// helmValues checks the releases with Secrets whose values the export contains, and
// records the permissions that they use.
func helmValues(b *fleet.Bundle, layout fleet.Layout, needed map[*fleet.Release]map[string]bool) error {
	var faults diag.List
	for _, r := range b.Cluster.Releases {
		hasSecret := slices.ContainsFunc(slices.Concat(b.Objects, b.Hooks), func(o fleet.Object) bool {
			return o.Release == r && o.GroupVersionKind().GroupKind() == schema.GroupKind{Kind: "Secret"}
		})
		if values, _ := r.Values.Native().(map[string]any); r.Delivery != fleet.ByHelm || !hasSecret || len(values) == 0 {
			continue
		}
		needed[r] = map[string]bool{valuesOf: true}
		if layout == fleet.PlainLayout || slices.ContainsFunc(r.Plaintext, func(w fleet.Waiver) bool { return w.Path == valuesOf }) {
			continue
		}
		faults.Add(&diag.Diag{
			Code: diag.CodeSecretExposed,
			At:   []diag.Pos{r.Pos}, Path: r.Path("values"),
			Msg:  "anyone who reads the export can read the values, and a Secret of the chart may contain them",
			Hint: "if none of them is secret, allow it: " + r.Path("plaintext") + `: values: "why"`,
		})
	}
	return faults.Err()
}
