package tokens

import (
	"context"
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/auth"
)

// How long tokens are good, in seconds.
const (
	defaultSeconds = 60 * 60
	leastSeconds   = 10 * 60
	mostSeconds    = 1 << 32
)

// Complete answers a request for a token of a service account: it fills in what was left out, and the token. Its errors
// are answers of the API.
func (i *Issuer) Complete(ctx context.Context, of types.NamespacedName, r *authenticationv1.TokenRequest) error {
	if r.Name != "" && r.Name != of.Name || r.Namespace != "" && r.Namespace != of.Namespace {
		return apierrors.NewBadRequest(fmt.Sprintf("the request is for the service account %s/%s, and its path for %s", r.Namespace, r.Name, of))
	}
	account, err := i.options.Find(ctx, serviceAccountKind, of)
	if err != nil {
		return err
	}
	now := i.options.Clock.Now().UTC().Truncate(time.Second)
	r.ObjectMeta = metav1.ObjectMeta{Name: of.Name, Namespace: of.Namespace, CreationTimestamp: metav1.NewTime(now)}
	if r.Spec.ExpirationSeconds == nil {
		seconds := int64(defaultSeconds)
		r.Spec.ExpirationSeconds = &seconds
	}
	r.Spec.Audiences = i.audiencesOr(r.Spec.Audiences)
	if errs := checkSeconds(*r.Spec.ExpirationSeconds); len(errs) > 0 {
		return apierrors.NewInvalid(schema.GroupKind{Group: authenticationv1.GroupName, Kind: "TokenRequest"}, of.Name, errs)
	}
	in := inCluster{Namespace: of.Namespace, ServiceAccount: reference{of.Name, account.GetUID()}}
	if err := i.bind(ctx, &in, r.Spec.BoundObjectRef); err != nil {
		return err
	}
	expires := now.Add(time.Duration(*r.Spec.ExpirationSeconds) * time.Second)
	token, err := i.sign(claims{Cluster: in, RegisteredClaims: jwt.RegisteredClaims{
		Issuer: i.options.Issuer, Subject: auth.ServiceAccount(of.Namespace, of.Name).Name, Audience: r.Spec.Audiences,
		ExpiresAt: jwt.NewNumericDate(expires), NotBefore: jwt.NewNumericDate(now), IssuedAt: jwt.NewNumericDate(now),
		ID: string(uuid.NewUUID()),
	}})
	r.Status = authenticationv1.TokenRequestStatus{Token: token, ExpirationTimestamp: metav1.NewTime(expires)}
	return err
}

func checkSeconds(seconds int64) field.ErrorList {
	path := field.NewPath("spec", "expirationSeconds")
	switch {
	case seconds < leastSeconds:
		return field.ErrorList{field.Invalid(path, seconds, "may not specify a duration less than 10 minutes")}
	case seconds > mostSeconds:
		return field.ErrorList{field.Invalid(path, seconds, "may not specify a duration larger than 2^32 seconds")}
	}
	return nil
}

// bind writes down what a token is to be bound to. A reference without UID is to whatever has the name.
func (i *Issuer) bind(ctx context.Context, in *inCluster, to *authenticationv1.BoundObjectReference) error {
	if to == nil {
		return nil
	}
	of, into := types.NamespacedName{Namespace: in.Namespace, Name: to.Name}, (**reference)(nil)
	switch {
	case to.APIVersion != "v1" && to.APIVersion != "":
	case to.Kind == podKind:
		into = &in.Pod
	case to.Kind == secretKind:
		into = &in.Secret
	case to.Kind == nodeKind:
		into, of.Namespace = &in.Node, ""
	}
	if into == nil {
		return apierrors.NewBadRequest(fmt.Sprintf("cannot bind token to object of type %s",
			schema.FromAPIVersionAndKind(to.APIVersion, to.Kind)))
	}
	o, err := i.options.Find(ctx, to.Kind, of)
	if err != nil {
		return err
	}
	if to.UID != "" && to.UID != o.GetUID() {
		return apierrors.NewConflict(schema.GroupResource{Group: authenticationv1.GroupName, Resource: "tokenrequests"}, to.Name, fmt.Errorf(
			"the UID in the bound object reference (%s) does not match the UID in record. The object might have been deleted and then recreated", to.UID))
	}
	*into = &reference{to.Name, o.GetUID()}
	if pod, ok := o.(*corev1.Pod); ok {
		return i.bindPod(ctx, in, pod)
	}
	return nil
}

// bindPod refuses a pod of another service account, and writes down where it runs.
func (i *Issuer) bindPod(ctx context.Context, in *inCluster, pod *corev1.Pod) error {
	if pod.Spec.ServiceAccountName != in.ServiceAccount.Name {
		return apierrors.NewBadRequest(fmt.Sprintf("cannot bind token for serviceaccount %q to pod running with different serviceaccount name.",
			in.ServiceAccount.Name))
	}
	if pod.Spec.NodeName == "" {
		return nil
	}
	in.Node = &reference{Name: pod.Spec.NodeName}
	node, err := i.options.Find(ctx, nodeKind, types.NamespacedName{Name: pod.Spec.NodeName})
	if apierrors.IsNotFound(err) {
		return nil // a node that is not registered has no UID
	}
	if err == nil {
		in.Node.UID = node.GetUID()
	}
	return err
}
