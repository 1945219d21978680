package validate

import (
	"crypto/sha256"
	"encoding/json"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

// A schemaKey identifies the schema of one version of a CRD, and the
// compatibility version, which decides which formats are known.
type schemaKey struct {
	digest  [sha256.Size]byte
	version string
	compat  minor
}

// compiledSchema is the compiled schema of one version of a CRD. It is safe for
// concurrent use.
type compiledSchema struct {
	structural *schema.Structural
	validator  validation.SchemaValidator
	rules      *cel.Validator // nil when the schema has no rules
	preserve   bool           // unknown fields are preserved everywhere
	status     bool           // the status subresource is enabled: status is ignored on creation
	replicas   string         // path of the replicas for the scale subresource; may be empty
	nodes      int            // of the schema
	defaulted  int            // maximum number of nodes that defaults add below one node
	problems   []problem      // why the schema cannot be used
}

// schema returns the compiled schema of a version of the CRD.
func (k *CRDChecker) schema(d *definition, name string, compat minor) *compiledSchema {
	return k.schemas.Get(schemaKey{d.digest, name, compat}, func() *compiledSchema {
		c := &compiledSchema{}
		c.problems = guarded(func() []problem { return c.compile(d, name, compat) })
		return c
	})
}

// A versionText has the fields of a version of a CRD that matter for
// validation.
type versionText struct {
	Schema struct {
		OpenAPIV3Schema *apiextensionsv1.JSONSchemaProps `json:"openAPIV3Schema"`
	} `json:"schema"`
	Subresources *apiextensionsv1.CustomResourceSubresources `json:"subresources"`
}

// compile compiles the schema of a version and returns the problems that
// prevent it.
func (c *compiledSchema) compile(d *definition, name string, compat minor) []problem {
	in := &apiextensions.JSONSchemaProps{}
	if found := c.decode(d, name, in); len(found) > 0 {
		return found
	}
	structural, err := schema.NewStructural(in)
	if err == nil {
		// PruneDefaults changes in too, which is not used any more.
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
	left := maxCountedDefaults
	c.defaulted = maxDefaultNodes(structural, &left)
	return nil
}

// decode decodes a version of the CRD.
func (c *compiledSchema) decode(d *definition, name string, in *apiextensions.JSONSchemaProps) []problem {
	v := d.version(name)
	w := schemaCost{}
	w.add(v, 0)
	if w.problem != "" {
		return []problem{{text: ": " + w.problem}}
	}
	m := meter{inSchema: true}
	data, err := json.Marshal(m.normalize(v, 0))
	var text versionText
	if err == nil {
		err = json.Unmarshal(data, &text)
	}
	if err != nil {
		p := decodingProblem(err)
		return []problem{{text: ": its version " + name + " cannot be decoded: " + strings.TrimPrefix(p.field+p.text, ": "), cause: err}}
	}
	if text.Schema.OpenAPIV3Schema == nil {
		return []problem{{text: ": it has no schema of version " + name}}
	}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(text.Schema.OpenAPIV3Schema, in, nil); err != nil {
		return []problem{{text: ": its version " + name + " cannot be decoded", cause: err}}
	}
	c.preserve = mapOf(d.object.Object["spec"])["preserveUnknownFields"] == true
	if sub := text.Subresources; sub != nil {
		c.status = sub.Status != nil
		if sub.Scale != nil {
			c.replicas = sub.Scale.SpecReplicasPath
		}
	}
	c.nodes = m.nodes
	return nil
}

// maxDefaultNodes returns the maximum number of nodes that defaults add below
// one map, since a default can have items with defaults. When left is used up,
// it returns maxDefaulted.
func maxDefaultNodes(s *schema.Structural, left *int) int {
	if s == nil {
		return 0
	}
	own, most := 0, 0
	for _, p := range s.Properties {
		if p.Default.Object != nil {
			own += countNodes(p.Default.Object, &p, left)
		}
		most = max(most, maxDefaultNodes(&p, left))
	}
	most = max(most, maxDefaultNodes(s.Items, left))
	if s.AdditionalProperties != nil {
		most = max(most, maxDefaultNodes(s.AdditionalProperties.Structural, left))
	}
	if *left < 0 {
		return maxDefaulted
	}
	return max(own, most)
}

// countNodes counts the nodes of a value with the defaults below it. It stops
// when left is used up.
func countNodes(v any, s *schema.Structural, left *int) int {
	*left--
	n := 1
	if s == nil || *left < 0 {
		return n
	}
	switch v := v.(type) {
	case map[string]any:
		for k, p := range s.Properties {
			if _, ok := v[k]; !ok && p.Default.Object != nil {
				n += countNodes(p.Default.Object, &p, left)
			}
		}
		for k, e := range v {
			if p, ok := s.Properties[k]; ok {
				n += countNodes(e, &p, left)
			} else if s.AdditionalProperties != nil {
				n += countNodes(e, s.AdditionalProperties.Structural, left)
			}
		}
	case []any:
		for _, e := range v {
			if *left < 0 {
				break
			}
			n += countNodes(e, s.Items, left)
		}
	}
	return n
}
