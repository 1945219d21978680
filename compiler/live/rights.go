package live

import (
	"context"
	"slices"

	authorization "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A Right is to do something to objects of a kind.
type Right struct {
	Verb      string // of the API: get, patch
	Group     string
	Resource  string
	Namespace string // empty for all
}

// Verb returns what tells of kinds whether the user has a right to the verb to
// objects of theirs in a namespace, and whether that is all that there is to be
// known. Of kinds without namespaces it tells nothing but in their favour.
func (c *Cluster) Verb(ctx context.Context, verb, namespace string) (may func(group, resource string) bool, whole bool, err error) {
	review := &authorization.SelfSubjectRulesReview{Spec: authorization.SelfSubjectRulesReviewSpec{Namespace: namespace}}
	var rules authorization.SubjectRulesReviewStatus
	err = c.do(ctx, func(ctx context.Context) error {
		answer, err := c.reviews.SelfSubjectRulesReviews().Create(ctx, review, metav1.CreateOptions{})
		if err == nil {
			rules = answer.Status
		}
		return err
	})
	return func(group, resource string) bool {
		return slices.ContainsFunc(rules.ResourceRules, func(r authorization.ResourceRule) bool {
			return len(r.ResourceNames) == 0 && names(r.Verbs, verb) && names(r.APIGroups, group) && names(r.Resources, resource)
		})
	}, !rules.Incomplete, err
}

func names(rule []string, one string) bool {
	return slices.Contains(rule, one) || slices.Contains(rule, "*")
}

// May reports whether the user has a right. The zero Right is to do everything.
func (c *Cluster) May(ctx context.Context, r Right) (bool, error) {
	a := &authorization.ResourceAttributes{Verb: r.Verb, Group: r.Group, Resource: r.Resource, Namespace: r.Namespace}
	if r == (Right{}) {
		a.Verb, a.Group, a.Resource = "*", "*", "*"
	}
	review := &authorization.SelfSubjectAccessReview{Spec: authorization.SelfSubjectAccessReviewSpec{ResourceAttributes: a}}
	var allowed bool
	err := c.do(ctx, func(ctx context.Context) error {
		answer, err := c.reviews.SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
		if err == nil {
			allowed = answer.Status.Allowed
		}
		return err
	})
	return allowed, err
}
