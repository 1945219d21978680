package values

import (
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// The library's error for a key is only left out if keyNames also refuses this key.
func TestWithoutRepeatedKeys(t *testing.T) {
	of := func(k jsonschema.ErrorKind) *jsonschema.ValidationError {
		return &jsonschema.ValidationError{ErrorKind: k}
	}
	got := withoutRepeatedKeys([]*jsonschema.ValidationError{
		of(&kind.PropertyNames{Property: "a"}), of(&refusedKey{kind.PropertyNames{Property: "a"}, "too long"}), of(&kind.PropertyNames{Property: "b"}),
	})
	if len(got) != 2 || got[1].ErrorKind.(*kind.PropertyNames).Property != "b" {
		t.Errorf("got %v", got)
	}
}
