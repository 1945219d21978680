package validate

import (
	"strings"
	"testing"
)

// gadgets is a small CRD for the tests to break.
const gadgets = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.example.com}
spec:
  group: example.com
  scope: Cluster
  names: {kind: Gadget, plural: gadgets}
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec:
              type: object
              properties:
                a: {type: string}
                num: {type: integer}
                l: {type: array, items: {type: string}}
`

const root = "spec.versions[0].schema.openAPIV3Schema"

func TestBadDefinitions(t *testing.T) {
	const props = root + ".properties.spec.properties"
	for _, tt := range []struct{ old, new, want string }{
		{"storage: true", "storage: false", "spec.versions: must have exactly one version marked as storage version [FL1604]\n"},
		{"name: v1\n", "name: V1\n", "spec.versions[0].name is \"V1\": a DNS-1035 label must consist of"},
		{
			"group: example.com", "group: example",
			"spec.group is \"example\": should be a domain with at least one dot [FL1604]\n",
		},
		{"kind: Gadget", "kind: Gad_get", "spec.names.kind is \"Gad_get\": may have mixed case, but should otherwise match: a DNS-1035 label must"},
		{"plural: gadgets", "plural: Gadgets", "spec.names.plural is \"Gadgets\": a DNS-1035 label"},
		{"plural: gadgets", "plural: gadgets, listKind: Gadget", "spec.names.listKind is \"Gadget\": kind and listKind may not be the same [FL1604]\n"},
		{"plural: gadgets", "plural: gadgets, singular: 'a b'", "spec.names.singular is \"a b\": a DNS-1035 label"},
		{"plural: gadgets", "plural: gadgets, categories: [All]", "spec.names.categories[0] is \"All\": a DNS-1035 label"},
		{"plural: gadgets", "plural: gadgets, shortNames: [gdg, G]", "spec.names.shortNames[1] is \"G\": a DNS-1035 label"},
		{"plural: gadgets", "plural: gadgets, shortName: gdg", "spec.names.shortName is an unknown field [FL1604]\n  did you mean shortNames?\n"},
		{"plural: gadgets", "plural: gadgets, categories: all", "spec.names.categories is a string: it must be a list [FL1604]\n"},
		{"scope: Cluster", "scope: Cluster\n  conversion: {strategy: Wbhook}", "spec.conversion.strategy is \"Wbhook\": it must be None or Webhook [FL1604]\n  did you mean Webhook?\n"},
		{
			"scope: Cluster", "scope: Cluster\n  conversion: {strategy: Webhook}",
			"spec.conversion.webhook.clientConfig is missing: required when strategy is set to Webhook [FL1604]\n  set it\n" +
				"spec.conversion.webhook.conversionReviewVersions is missing [FL1604]\n  set it\n",
		},
		{
			"scope: Cluster", "scope: Cluster\n  conversion: {strategy: Webhook, webhook: {clientConfig: {url: 'http://x'}, conversionReviewVersions: [v7]}}",
			"spec.conversion.webhook.clientConfig.url is \"http\": 'https' is the only allowed URL scheme; desired format: https://host[/path] [FL1604]\n" +
				"spec.conversion.webhook.conversionReviewVersions: must include at least one of v1, v1beta1 [FL1604]\n",
		},
		{
			"scope: Cluster", "scope: Cluster\n  conversion: {strategy: None, webhook: {conversionReviewVersions: [v1]}}",
			"spec.conversion.webhook.conversionReviewVersions: should not be set when strategy is not set to Webhook [FL1604]\n",
		},
		{"scope: Cluster", "scope: Cluster\n  preserveUnknownFields: true", "spec.preserveUnknownFields is true: cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead [FL1604]\n"},
		{"scope: Cluster", "scope: Cluster\n  additionalPrinterColumns: []", "spec.additionalPrinterColumns is an unknown field [FL1604]\n  leave it out\n"},
		{"storage: true", "storage: true\n      additionalPrinterColumns: [{name: A, type: text, jsonPath: .spec.a}]", "spec.versions[0].additionalPrinterColumns[0].type is \"text\": must be one of boolean,date,integer,number,string [FL1604]\n"},
		{"storage: true", "storage: true\n      additionalPrinterColumns: [{name: A, type: string, jsonPath: spec.a}]", "spec.versions[0].additionalPrinterColumns[0].jsonPath is \"spec.a\": must be a simple json path starting with . [FL1604]\n"},
		{"storage: true", "storage: true\n      additionalPrinterColumns: [{name: A, type: string, JSONPath: .spec.a}]", "spec.versions[0].additionalPrinterColumns[0].JSONPath is an unknown field [FL1604]\n  leave it out\n" +
			"spec.versions[0].additionalPrinterColumns[0].jsonPath is missing [FL1604]\n  set it\n"},
		{"storage: true", "storage: true\n      subresource: {status: {}}", "spec.versions[0].subresource is an unknown field [FL1604]\n  did you mean subresources?\n"},
		{"storage: true", "storage: true\n      subresources: {scale: {specReplicasPath: .status.n}}", "spec.versions[0].subresources.scale.specReplicasPath is \".status.n\": should be a json path under .spec [FL1604]\n" +
			"spec.versions[0].subresources.scale.statusReplicasPath is missing [FL1604]\n  set it\n"},
		{"storage: true", "storage: true\n      selectableFields: [{jsonPath: .spec.b}]", "spec.versions[0].selectableFields[0].jsonPath is \".spec.b\": is an invalid path: does not refer to a valid field [FL1604]\n"},
		{"storage: true", "storage: true\n      deprecationWarning: old", "spec.versions[0].deprecationWarning is \"old\": can only be set for deprecated versions [FL1604]\n"},
		{"      schema:\n        openAPIV3Schema:\n", "      other:\n        openAPIV3Schema:\n", "spec.versions[0].other is an unknown field [FL1604]\n  leave it out\n" + root + " is missing [FL1604]\n  set it\n"},
		{"          type: object\n          properties", "          properties", root + ".type is missing: must not be empty at the root [FL1604]\n  set it\n"},
		{"a: {type: string}", "a: {}", props + ".a.type is missing: must not be empty for specified object fields [FL1604]\n  set it\n"},
		{"a: {type: string}", "a: {type: strnig}", props + ".a.type is \"strnig\": it must be one of array, boolean, integer, number, object, string [FL1604]\n  did you mean string?\n"},
		{"a: {type: string}", "a: {type: string, pattern: '['}", props + ".a.pattern is \"[\": must be a valid regular expression, but isn't: error parsing regexp: missing closing ]: `[` [FL1604]\n"},
		{"a: {type: string}", "a: {type: string, maxLength: '3'}", props[:4]},
		{"a: {type: string}", "a: {type: string, maxlength: 3}", props + ".a.maxlength is an unknown field [FL1604]\n  did you mean maxLength?\n"},
		{"a: {type: string}", "a: {type: string, default: 3}", props + ".a.default: it must be a string [FL1604]\n"},
		{"a: {type: string}", "a: {type: object, properties: {b: {type: string}}, default: {c: 1}}", props + ".a.default is c 1: must not have unknown fields [FL1604]\n"},
		{"a: {type: string}", "a: {$ref: '#/definitions/a'}", props + ".a.$ref: $ref is not supported [FL1604]\n"},
		{"a: {type: string}", "a: {type: object, properties: {b: {type: string}}, additionalProperties: {type: string}}", props + ".a.additionalProperties: additionalProperties and properties are mutual exclusive [FL1604]\n"},
		{"a: {type: string}", "a: {type: string, x-kubernetes-preserve-unknown-fields: false}", props + ".a.x-kubernetes-preserve-unknown-fields is false: must be true or undefined [FL1604]\n"},
		{"a: {type: string}", "a: {type: string, anyOf: [{type: string}]}", props + ".a.anyOf[0].type: must be empty to be structural [FL1604]\n"},
		{"a: {type: string}", "a: {type: string, nullable: yes, uniqueItems: true}", props + ".a.uniqueItems: uniqueItems cannot be set to true since"},
		{"items: {type: string}", "items: [{type: string}]", ""},
		{"l: {type: array, items: {type: string}}", "l: {type: array}", props + ".l.items is missing: must be specified [FL1604]\n  set it\n"},
		{"l: {type: array, items: {type: string}}", "l: {type: array, x-kubernetes-list-type: bag, items: {type: string}}", props + ".l.x-kubernetes-list-type is \"bag\": it must be one of atomic, set, map [FL1604]\n"},
		{"l: {type: array, items: {type: string}}", "l: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k], items: {type: object, properties: {k: {type: string}}}}", props + ".l.items.properties.k.default is missing: this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property [FL1604]\n  set it\n"},
		{"num: {type: integer}", "num: {type: integer, x-kubernetes-validations: [{rule: 'self > other'}]}", props + ".num.x-kubernetes-validations[0].rule is \"self > other\": it does not compile: undeclared reference to 'other' [FL1604]\n"},
		{"num: {type: integer}", "num: {type: integer, x-kubernetes-validations: [{rule: 'self + 1'}]}", props + ".num.x-kubernetes-validations[0].rule is \"self + 1\": cel expression must evaluate to a bool [FL1604]\n"},
		{"num: {type: integer}", "num: {type: integer, x-kubernetes-validations: [{rule: 'self >'}]}", props + ".num.x-kubernetes-validations[0].rule is \"self >\": it does not compile: Syntax error:"},
		{"num: {type: integer}", "num: {type: integer, x-kubernetes-validations: [{rule: ' '}]}", props + ".num.x-kubernetes-validations[0].rule is missing: rule is not specified [FL1604]\n  set it\n"},
		{"num: {type: integer}", "num: {type: integer, x-kubernetes-validations: [{rule: 'self > 1', messageExpression: '3'}]}", props + ".num.x-kubernetes-validations[0].messageExpression is \"3\": messageExpression must evaluate to a string [FL1604]\n"},
		{"num: {type: integer}", "num: {type: integer, x-kubernetes-validations: [{rule: 'self > 1', message: \"a\\nb\"}]}", props + ".num.x-kubernetes-validations[0].message is \"a\\nb\": must not contain line breaks [FL1604]\n"},
		{"l: {type: array, items: {type: string}}", "l: {type: array, items: {type: string}, x-kubernetes-validations: [{rule: 'self.all(x, self.all(y, x != y + \"\"))'}]}", props + ".l.x-kubernetes-validations[0].rule: estimated rule cost exceeds budget by factor of more than 100x [FL1604]\n  simplify the rule"},
		{"l: {type: array, items: {type: string}}", "l: {type: array, items: {type: string, x-kubernetes-validations: [{rule: 'self == oldSelf'}]}}", "oldSelf cannot be used on the uncorrelatable portion of the schema within"},
	} {
		if !strings.Contains(gadgets, tt.old) {
			t.Fatalf("%q is not in the CRD", tt.old)
		}
		objs := customObjects(t, strings.Replace(gadgets, tt.old, tt.new, 1))
		got := short(checkCustom(t, objs), "CustomResourceDefinition.apiextensions.k8s.io gadgets.example.com")
		checkStyle(t, got)
		if got == "" || !strings.Contains(got, tt.want) || strings.HasSuffix(tt.want, "\n") && got != tt.want && !strings.Contains(got, "entire OpenAPIv3 schema") {
			t.Errorf("%s: got\n%s\nwant\n%s", tt.new, got, tt.want)
		}
	}
}

func TestGoodDefinitions(t *testing.T) {
	for _, tt := range []struct{ old, new string }{
		{"", ""},
		// The status of a CRD is ignored on creation.
		{"\nspec:\n", "\nstatus: {acceptedNames: {kind: '', plural: ''}, conditions: [], storedVersions: []}\nspec:\n"},
		{"a: {type: string}", "description: {type: string, default: x, description: A text.}"},
		{"a: {type: string}", "a: {type: object, default: {description: x}, required: [description], properties: {description: {type: string}}}"},
		{"a: {type: string}", "a: {type: string, enum: [description, x], example: {description: 1}}"},
		{"scope: Cluster", "scope: Cluster\n  conversion: {strategy: Webhook, webhook: {clientConfig: {caBundle: Cg==, service: {name: a, namespace: b, path: /c}}, conversionReviewVersions: [v1]}}"},
		{"storage: true", "storage: true\n      deprecated: true\n      deprecationWarning: use another"},
		{"scope: Cluster", "scope: Namespaced\n  preserveUnknownFields: false"},
		{"num: {type: integer}", "num: {type: integer, x-kubernetes-validations: [{rule: self > 1, message: m, reason: FieldValueInvalid}, {rule: self >= oldSelf}]}"},
	} {
		text := strings.Replace(gadgets, tt.old, tt.new, 1)
		if got := checkCustom(t, customObjects(t, text, "{apiVersion: example.com/v1, kind: Gadget, metadata: {name: a}, spec: {}}")); got != "" {
			t.Errorf("%s:\n%s", tt.new, got)
		}
	}
}

// A group of Kubernetes itself needs an approval annotation.
func TestApproval(t *testing.T) {
	ours := strings.ReplaceAll(gadgets, "example.com", "example.k8s.io")
	got := short(checkCustom(t, customObjects(t, ours)), "CustomResourceDefinition.apiextensions.k8s.io gadgets.example.k8s.io")
	const want = "metadata.annotations[api-approved.kubernetes.io] is missing: protected groups must have approval annotation \"api-approved.kubernetes.io\", see https://github.com/kubernetes/enhancements/pull/1111 [FL1604]\n  set it\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	approved := strings.Replace(ours, "io}", `io, annotations: {api-approved.kubernetes.io: "https://github.com/kubernetes/kubernetes/pull/1"}}`, 1)
	if got := checkCustom(t, customObjects(t, approved)); got != "" {
		t.Errorf("got\n%s", got)
	}
}

// Name and labels of a CRD are validated by another package.
func TestDefinitionMetadata(t *testing.T) {
	for _, meta := range []string{"{name: another}", "{name: 'A b'}", "{name: gadgets.example.com, labels: {'a b': 'c d'}}", "{name: a, x: 1}"} {
		text := strings.Replace(gadgets, "{name: gadgets.example.com}", meta, 1)
		if got := checkCustom(t, customObjects(t, text)); got != "" {
			t.Errorf("%s:\n%s", meta, got)
		}
	}
}

// A version of Kubernetes allows the functions in new rules that its previous
// version supports.
func TestUnsupportedRules(t *testing.T) {
	var k CRDChecker
	old := "a: {type: string}"
	objs := customObjects(t, strings.Replace(gadgets, old, "a: {type: string, maxLength: 50, x-kubernetes-validations: [{rule: isIP(self)}]}", 1))
	const want = root + ".properties.spec.properties.a.x-kubernetes-validations[0].rule is \"isIP(self)\"," +
		" which Kubernetes 1.30 does not support yet: undeclared reference to 'isIP' [FL1604]\n" +
		"  use the version of the CRD that is made for Kubernetes 1.30\n"
	for version, faulty := range map[string]bool{"1.29": true, "1.30": true, "1.30.4": true, "1.31": false, "1.37": false} {
		got := short(faults(t, k.Objects(customCluster(version), objs, nil)), "CustomResourceDefinition.apiextensions.k8s.io gadgets.example.com")
		if (got != "") != faulty {
			t.Errorf("%s: got\n%s", version, got)
		}
		if strings.HasPrefix(version, "1.30") && got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", version, got, want)
		}
	}
	// A rule that no version supports has the same fault in all of them.
	two := strings.Replace(gadgets, old, "a: {type: string, maxLength: 50, x-kubernetes-validations: [{rule: self.startsWith('a'), messageExpression: 'isIP(self) ? \"a\" : \"b\"'}]}", 1)
	two = strings.Replace(two, "    - name: v1\n", "    - {name: v2, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}}\n    - name: v1\n", 1)
	got := faults(t, k.Objects(customCluster("1.30"), customObjects(t, two), nil))
	if !strings.Contains(got, "spec.versions[1].schema.openAPIV3Schema.properties.spec.properties.a.x-kubernetes-validations[0].messageExpression is") {
		t.Errorf("got\n%s", got)
	}
}
