package apiserver

import (
	"errors"
	"net/http"
	"strings"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/kinds"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/registry"
)

func (s *Server) create(w http.ResponseWriter, r *http.Request, t registry.Target) error {
	var o metav1.CreateOptions
	if err := queryOptions(r, &o, "CreateOptions", func() field.ErrorList { return validation.ValidateCreateOptions(&o) }); err != nil {
		return err
	}
	o.FieldManager = managerOf(r, o.FieldManager)
	object, err := readObject(w, r, t.Kind, o.FieldValidation)
	if err != nil {
		return err
	}
	created, err := s.registry.Create(r.Context(), t, object, o)
	if err == nil {
		err = s.settled(r.Context(), t)
	}
	if err != nil {
		return err
	}
	return s.writeObject(w, r, http.StatusCreated, t.Kind, created)
}

func (s *Server) update(w http.ResponseWriter, r *http.Request, t registry.Target) error {
	var o metav1.UpdateOptions
	if err := queryOptions(r, &o, "UpdateOptions", func() field.ErrorList { return validation.ValidateUpdateOptions(&o) }); err != nil {
		return err
	}
	o.FieldManager = managerOf(r, o.FieldManager)
	object, err := readObject(w, r, t.Shown(), o.FieldValidation)
	if err != nil {
		return err
	}
	written, err := s.registry.Update(r.Context(), t, object, o)
	if err == nil {
		err = s.settled(r.Context(), t)
	}
	if err != nil {
		return err
	}
	return s.writeWritten(w, r, t, written)
}

func (s *Server) patch(w http.ResponseWriter, r *http.Request, t registry.Target) error {
	form, data, err := readBody(r)
	if err != nil {
		return err
	}
	p := types.PatchType(form)
	switch p {
	case types.JSONPatchType, types.MergePatchType, types.ApplyYAMLPatchType:
	case types.StrategicMergePatchType:
		if t.Kind.Custom {
			return errMediaType(string(types.JSONPatchType), string(types.MergePatchType), string(types.ApplyYAMLPatchType))
		}
	default:
		return failure(http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType, "415: Unsupported Media Type")
	}
	var o metav1.PatchOptions
	if err := queryOptions(r, &o, "PatchOptions", func() field.ErrorList { return validation.ValidatePatchOptions(&o, p) }); err != nil {
		return err
	}
	o.FieldManager = managerOf(r, o.FieldManager)
	written, err := s.registry.Patch(r.Context(), t, p, data, o)
	if err == nil {
		err = s.settled(r.Context(), t)
	}
	if err != nil {
		return err
	}
	return s.writeWritten(w, r, t, written)
}

func (s *Server) writeWritten(w http.ResponseWriter, r *http.Request, t registry.Target, written registry.Written) error {
	warn(w, written.Warnings)
	code := http.StatusOK
	if written.Created {
		code = http.StatusCreated
	}
	return s.writeObject(w, r, code, t.Shown(), written.Object)
}

// bind answers what a scheduler posts to a pod.
func (s *Server) bind(w http.ResponseWriter, r *http.Request, t registry.Target) error {
	var o metav1.CreateOptions
	if err := queryOptions(r, &o, "CreateOptions", func() field.ErrorList { return validation.ValidateCreateOptions(&o) }); err != nil {
		return err
	}
	binding, err := readObject(w, r, kinds.Bindings(), o.FieldValidation)
	if err != nil {
		return err
	}
	if err := s.registry.Bind(r.Context(), t, binding.(*corev1.Binding), o); err != nil {
		return err
	}
	return s.writeJSON(w, r, http.StatusCreated, metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusSuccess, Code: http.StatusCreated,
	})
}

// evict answers a request to have a pod leave its node: it is deleted, since nobody says here how many must stay.
func (s *Server) evict(w http.ResponseWriter, r *http.Request, t registry.Target) error {
	var o metav1.CreateOptions
	if err := queryOptions(r, &o, "CreateOptions", func() field.ErrorList { return validation.ValidateCreateOptions(&o) }); err != nil {
		return err
	}
	object, err := readObject(w, r, kinds.Evictions(), o.FieldValidation)
	if err != nil {
		return err
	}
	if object.GetName() != t.Name {
		return badRequest("name in URL does not match name in Eviction object")
	}
	var how metav1.DeleteOptions
	if given := object.(*policyv1.Eviction).DeleteOptions; given != nil {
		how = *given
	}
	how.DryRun = append(how.DryRun, o.DryRun...)
	if errs := validation.ValidateDeleteOptions(&how); len(errs) > 0 {
		return apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "DeleteOptions"}, "", errs)
	}
	t.Subresource = ""
	if _, _, err := s.registry.Delete(r.Context(), t, how); err != nil {
		return err
	}
	return s.writeJSON(w, r, http.StatusCreated, metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusSuccess, Code: http.StatusCreated,
	})
}

func (s *Server) delete(w http.ResponseWriter, r *http.Request, t registry.Target) error {
	o, err := deleteOptions(r)
	if err != nil {
		return err
	}
	last, gone, err := s.registry.Delete(r.Context(), t, o)
	if err == nil {
		err = s.settled(r.Context(), t)
	}
	if err != nil {
		return err
	}
	//lint:ignore SA1019 clients may still say it so
	if orphan := o.OrphanDependents; !gone && orphan != nil && !*orphan {
		return s.writeObject(w, r, http.StatusAccepted, t.Kind, last)
	}
	if !gone || t.Kind.Grace != nil {
		return s.writeObject(w, r, http.StatusOK, t.Kind, last)
	}
	return s.writeJSON(w, r, http.StatusOK, metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusSuccess,
		Details: &metav1.StatusDetails{
			Name: t.Name, Group: t.Kind.Group, Kind: t.Kind.Resource, UID: last.GetUID(),
		},
	})
}

func (s *Server) deleteCollection(w http.ResponseWriter, r *http.Request, t registry.Target) error {
	o, err := deleteOptions(r)
	if err != nil {
		return err
	}
	selected, err := listOptions(r, path{})
	if err != nil {
		return err
	}
	list, err := s.registry.DeleteCollection(r.Context(), t, o, selected)
	if err == nil {
		err = s.settled(r.Context(), t)
	}
	if err != nil {
		return err
	}
	return s.writeList(w, r, t.Kind, list)
}

// queryOptions reads the options of a write from the query, and checks them.
func queryOptions(r *http.Request, o runtime.Object, kind string, check func() field.ErrorList) error {
	if err := scheme.ParameterCodec.DecodeParameters(r.URL.Query(), schema.GroupVersion{Version: "v1"}, o); err != nil {
		return badRequest("%v", err)
	}
	if errs := check(); len(errs) > 0 {
		return apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: kind}, "", errs)
	}
	return nil
}

// deleteOptions reads the options of a delete, which stand in the body or in the query.
func deleteOptions(r *http.Request) (metav1.DeleteOptions, error) {
	var o metav1.DeleteOptions
	form, data, err := readBody(r)
	if err != nil {
		return o, err
	}
	check := func() field.ErrorList { return validation.ValidateDeleteOptions(&o) }
	if len(data) == 0 {
		return o, queryOptions(r, &o, "DeleteOptions", check)
	}
	for _, info := range scheme.Codecs.SupportedMediaTypes() {
		if info.MediaType != form {
			continue
		}
		gvk := schema.GroupVersionKind{Version: "v1", Kind: "DeleteOptions"}
		if _, _, err := info.Serializer.Decode(data, &gvk, &o); err != nil {
			return o, badRequest("%v", err)
		}
		if errs := check(); len(errs) > 0 {
			return o, apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "DeleteOptions"}, "", errs)
		}
		return o, nil
	}
	return o, errMediaType(kinds.JSON, kinds.YAML, kinds.Protobuf)
}

// managerOf returns who owns the fields that a request changes: who it says, or the program
// that sent it.
func managerOf(r *http.Request, name string) string {
	if name != "" {
		return name
	}
	agent, _, _ := strings.Cut(r.UserAgent(), "/")
	return agent[:min(len(agent), validation.FieldManagerMaxLength)]
}

// readObject reads the object that a client sent, and warns of what is wrong with its fields.
func readObject(w http.ResponseWriter, r *http.Request, k *kinds.Kind, fields string) (kinds.Object, error) {
	form, data, err := readBody(r)
	if err != nil {
		return nil, err
	}
	o, problems, err := k.DecodeForm(form, data)
	switch {
	case errors.Is(err, kinds.ErrForm):
		return nil, errMediaType(formsOf(k)...)
	case err != nil:
		return nil, badRequest("%v", err)
	}
	warnings, err := registry.Strict(problems, fields)
	if err != nil {
		return nil, badRequest("%s in version %q cannot be handled as a %s: %v", k.Kind, k.Version, k.Kind, err)
	}
	warn(w, warnings)
	return o, nil
}

// warn tells the client what it should know, in the way that clients show to people.
func warn(w http.ResponseWriter, warnings []string) {
	for _, text := range warnings {
		text = strings.Join(strings.Fields(text), " ") // a header has one line
		if header, err := utilnet.NewWarningHeader(299, "-", text); err == nil {
			w.Header().Add("Warning", header)
		}
	}
}
