package crd

import (
	"crypto/sha256"
	"encoding/json"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdvalidation "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// A schemaKey names the schema of one version of a CRD, and the version of
// Kubernetes that checks objects against it, when that matters.
type schemaKey struct {
	digest  [sha256.Size]byte
	version string
	compat  minor
}

// compiled is the schema of one version of a CRD, ready for use by several
// goroutines at once.
type compiled struct {
	structural *schema.Structural
	validator  validation.SchemaValidator
	rules      *cel.Validator // nil when the schema has no rules
	preserve   bool           // unknown fields are kept everywhere
	status     bool           // status is not taken when an object is created
	replicas   string         // path of the number that scale sets; may be empty
	nodes      int            // of the schema
	defaulted  int            // the most nodes that defaults add below one node
	uses       uses           // what it makes use of
	dated      bool           // it has formats that older versions pass over
	problems   []problem      // why there is no schema
}

// schema returns the compiled schema of a version that the CRD has.
func (k *Checker) schema(d *definition, name string, compat minor) *compiled {
	at := func(compat minor) *compiled {
		return k.schemas.Get(schemaKey{d.digest, name, compat}, func() (c *compiled) {
			c = &compiled{}
			c.problems = guarded(func() []problem { return c.compile(d, name, compat) })
			return c
		})
	}
	c := at(newest())
	if c.dated && compat < newest() {
		return at(compat)
	}
	return c
}

// A versionText is what counts of one version of a CRD.
type versionText struct {
	Schema struct {
		OpenAPIV3Schema *apiextensionsv1.JSONSchemaProps `json:"openAPIV3Schema"`
	} `json:"schema"`
	Subresources *apiextensionsv1.CustomResourceSubresources `json:"subresources"`
}

// compile compiles the schema of one version. It returns why it cannot.
func (c *compiled) compile(d *definition, name string, compat minor) []problem {
	in := &apiextensions.JSONSchemaProps{}
	if found := c.decode(d, name, in); len(found) > 0 {
		return found
	}
	structural, err := schema.NewStructural(in)
	if err == nil {
		// The defaults are shared with in, which is let go.
		err = defaulting.PruneDefaults(structural)
	}
	if err != nil {
		return []problem{{text: ": its schema of version " + name + " is not structural: " + clause(err.Error())}}
	}
	c.structural = structural
	c.validator, _, err = validation.NewSchemaValidatorForVersion(in, compat.version())
	if err != nil {
		return []problem{{text: ": its schema of version " + name + " cannot be used: " + clause(err.Error())}}
	}
	c.rules = cel.NewValidator(structural, true, celconfig.PerCallLimit)
	c.uses.look(structural)
	left := maxUnfolded
	c.defaulted = expand(structural, &left)
	return nil
}

// decode reads one version of the CRD.
func (c *compiled) decode(d *definition, name string, in *apiextensions.JSONSchemaProps) []problem {
	v, _ := d.version(name)
	w := weights{}
	w.add(v, 0)
	if w.problem != "" {
		return []problem{{text: ": " + w.problem}}
	}
	t := writer{inSchema: true}
	t.value(v, 0)
	var text versionText
	if err := json.Unmarshal(t.text, &text); err != nil {
		p := ofDecoding(err)
		return []problem{{text: ": its version " + name + " cannot be decoded: " + strings.TrimPrefix(p.field+p.text, ": "), cause: err}}
	}
	if text.Schema.OpenAPIV3Schema == nil {
		return []problem{{text: ": it has no schema of version " + name}}
	}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(text.Schema.OpenAPIV3Schema, in, nil); err != nil {
		return []problem{{text: ": its version " + name + " cannot be decoded", cause: err}}
	}
	spec, _ := d.object.Object["spec"].(map[string]any)
	c.preserve = spec["preserveUnknownFields"] == true
	if sub := text.Subresources; sub != nil {
		c.status = sub.Status != nil
		if sub.Scale != nil {
			c.replicas = sub.Scale.SpecReplicasPath
		}
	}
	c.nodes = t.nodes
	c.dated = crdvalidation.SchemaHas(in, dated)
	return nil
}

// uses are what a schema makes use of. What it does not is not looked for in
// objects.
type uses struct {
	embedded bool // objects inside of objects
	lists    bool // lists that are sets or maps
}

// look looks at a part of a schema.
func (u *uses) look(s *schema.Structural) {
	if s == nil {
		return
	}
	u.embedded = u.embedded || s.XEmbeddedResource
	u.lists = u.lists || s.XListType != nil && *s.XListType != "atomic"
	u.look(s.Items)
	for _, p := range s.Properties {
		u.look(&p)
	}
	if s.AdditionalProperties != nil {
		u.look(s.AdditionalProperties.Structural)
	}
}

// dated reports whether a schema has a format that the library knows and the
// oldest API servers do not.
func dated(in *apiextensions.JSONSchemaProps) bool {
	if in.Format == "" {
		return false
	}
	s := &spec.Schema{SchemaProps: spec.SchemaProps{Type: []string{in.Type}, Format: in.Format}}
	return len(validation.GetUnrecognizedFormats(s, newest().version())) == 0 &&
		len(validation.GetUnrecognizedFormats(s, minor(0).version())) > 0
}
