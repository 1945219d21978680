// The program executes templates as the External Secrets Operator does. It reads a list of
// cases in JSON from standard input and prints the results as a list of maps of texts.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	esapi "github.com/external-secrets/external-secrets/apis/externalsecrets/v1"
	template "github.com/external-secrets/external-secrets/pkg/template/v2"
	corev1 "k8s.io/api/core/v1"
)

// A testCase is the templates and the fetched values of an ExternalSecret.
type testCase struct {
	Templates map[string]string
	Values    map[string]string
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	var cases []testCase
	if err := json.NewDecoder(os.Stdin).Decode(&cases); err != nil {
		return err
	}
	var out []map[string]string
	for _, c := range cases {
		secret := &corev1.Secret{}
		if err := template.Execute(bytesOf(c.Templates), bytesOf(c.Values), esapi.TemplateScopeValues, esapi.TemplateTargetData, secret); err != nil {
			return err
		}
		texts := map[string]string{}
		for key, value := range secret.Data {
			texts[key] = string(value)
		}
		out = append(out, texts)
	}
	return json.NewEncoder(os.Stdout).Encode(out)
}

func bytesOf(texts map[string]string) map[string][]byte {
	out := map[string][]byte{}
	for key, text := range texts {
		out[key] = []byte(text)
	}
	return out
}
