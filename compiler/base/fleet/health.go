package fleet

import (
	"time"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// A HealthRule determines when objects are ready, and overrides the built-in
// rules of their kind. A field that is not set is taken from the next matching
// rule. JSON field names must not change, because rules are stored in
// clusters.
type HealthRule struct {
	Name        string        `json:"name"`
	Match       Selector      `json:"match"`
	Wait        *bool         `json:"wait,omitempty"`        // whether to wait for objects; nil when not set
	Timeout     time.Duration `json:"timeout,omitempty"`     // how long to wait for an object; 0 when not set
	Ready       []HealthTest  `json:"ready,omitempty"`       // all must hold for a ready object
	Progressing []HealthTest  `json:"progressing,omitempty"` // one must hold for an object that is neither ready nor failed
	Failed      []HealthTest  `json:"failed,omitempty"`      // one must hold for an object that will not become ready
	Texts       []MatchText   `json:"-"`                     // texts of Match, or the name if it is a kind
	Pos         diag.Pos      `json:"-"`                     // position of the rule
}

// A HealthTest checks a live object: one of status.conditions or, when Type is
// empty, an expression.
type HealthTest struct {
	Type       string   `json:"type,omitempty"`
	Status     string   `json:"status,omitempty"`
	Reasons    []string `json:"reasons,omitempty"`    // accepted reasons of the condition; empty accepts any
	Expression string   `json:"expression,omitempty"` // CEL
	Pos        diag.Pos `json:"-"`                    // position of the test
}
