package live

import (
	"context"

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
