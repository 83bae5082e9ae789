package crd

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// simplePath is a path to a field, such as ".spec.size".
var simplePath = regexp.MustCompile(`^(\.[A-Za-z_][A-Za-z0-9_-]*)+$`)

// Check returns what is wrong with a definition, but for its metadata. One without faults can be served.
func Check(d *Definition) field.ErrorList {
	spec := field.NewPath("spec")
	var errs field.ErrorList
	if d.Name != d.Spec.Names.Plural+"."+d.Spec.Group {
		errs = append(errs, field.Invalid(field.NewPath("metadata", "name"), d.Name, `must be spec.names.plural+"."+spec.group`))
	}
	errs = append(errs, checkGroup(d, spec.Child("group"))...)
	switch d.Spec.Scope {
	case "":
		errs = append(errs, field.Required(spec.Child("scope"), ""))
	case apiextensionsv1.ClusterScoped, apiextensionsv1.NamespaceScoped:
	default:
		errs = append(errs, field.NotSupported(spec.Child("scope"), d.Spec.Scope,
			[]apiextensionsv1.ResourceScope{apiextensionsv1.ClusterScoped, apiextensionsv1.NamespaceScoped}))
	}
	errs = append(errs, checkNames(&d.Spec.Names, spec.Child("names"))...)
	errs = append(errs, checkVersions(d.Spec.Versions, spec.Child("versions"))...)
	if c := d.Spec.Conversion; c != nil && c.Strategy != apiextensionsv1.NoneConverter {
		errs = append(errs, field.NotSupported(spec.Child("conversion", "strategy"), c.Strategy,
			[]apiextensionsv1.ConversionStrategyType{apiextensionsv1.NoneConverter}))
	}
	if d.Spec.PreserveUnknownFields {
		errs = append(errs, field.Invalid(spec.Child("preserveUnknownFields"), true,
			"cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"))
	}
	for i, stored := range d.Status.StoredVersions {
		if !slices.ContainsFunc(d.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == stored }) {
			errs = append(errs, field.Invalid(field.NewPath("status", "storedVersions").Index(i), stored, "must appear in spec.versions"))
		}
	}
	if len(errs) == 0 {
		_, errs = rowsOf(d, &life{})
	}
	return errs
}

// checkUpdate returns what is wrong with a definition in place of old: what is stored must keep its place and kind.
func checkUpdate(next, old *Definition) field.ErrorList {
	spec := field.NewPath("spec")
	errs := Check(next)
	fixed := func(at *field.Path, next, old string) {
		if next != old {
			errs = append(errs, field.Invalid(at, next, "field is immutable"))
		}
	}
	fixed(spec.Child("group"), next.Spec.Group, old.Spec.Group)
	fixed(spec.Child("names", "plural"), next.Spec.Names.Plural, old.Spec.Names.Plural)
	if is(old, apiextensionsv1.Established) {
		fixed(spec.Child("scope"), string(next.Spec.Scope), string(old.Spec.Scope))
		fixed(spec.Child("names", "kind"), next.Spec.Names.Kind, old.Spec.Names.Kind)
	}
	return errs
}

func checkGroup(d *Definition, at *field.Path) field.ErrorList {
	group := d.Spec.Group
	if group == "" {
		return field.ErrorList{field.Required(at, "")}
	}
	if wrong := validation.IsDNS1123Subdomain(group); len(wrong) > 0 {
		return field.ErrorList{field.Invalid(at, group, strings.Join(wrong, ","))}
	}
	if !strings.Contains(group, ".") {
		return field.ErrorList{field.Invalid(at, group, "should be a domain with at least one dot")}
	}
	protected := strings.HasSuffix(group, ".k8s.io") || strings.HasSuffix(group, ".kubernetes.io") || group == "k8s.io" || group == "kubernetes.io"
	if protected && d.Annotations[apiextensionsv1.KubeAPIApprovedAnnotation] == "" {
		return field.ErrorList{field.Required(field.NewPath("metadata", "annotations").Key(apiextensionsv1.KubeAPIApprovedAnnotation),
			`protected groups must have approval annotation "`+apiextensionsv1.KubeAPIApprovedAnnotation+
				`", see https://github.com/kubernetes/enhancements/pull/1111`)}
	}
	return nil
}

func checkNames(n *apiextensionsv1.CustomResourceDefinitionNames, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	label := func(at *field.Path, name, label string) {
		if name == "" {
			errs = append(errs, field.Required(at, ""))
		} else if wrong := validation.IsDNS1035Label(label); len(wrong) > 0 {
			errs = append(errs, field.Invalid(at, name, strings.Join(wrong, ",")))
		}
	}
	label(at.Child("plural"), n.Plural, n.Plural)
	label(at.Child("singular"), n.Singular, n.Singular)
	label(at.Child("kind"), n.Kind, strings.ToLower(n.Kind))
	label(at.Child("listKind"), n.ListKind, strings.ToLower(n.ListKind))
	for i, name := range n.ShortNames {
		label(at.Child("shortNames").Index(i), name, name)
	}
	for i, name := range n.Categories {
		label(at.Child("categories").Index(i), name, name)
	}
	if n.Kind != "" && n.Kind == n.ListKind {
		errs = append(errs, field.Invalid(at.Child("listKind"), n.ListKind, "kind and listKind may not be the same"))
	}
	return errs
}

func checkVersions(versions []apiextensionsv1.CustomResourceDefinitionVersion, at *field.Path) field.ErrorList {
	if len(versions) == 0 {
		return field.ErrorList{field.Required(at, "")}
	}
	var errs field.ErrorList
	stored, seen := 0, map[string]bool{}
	for i := range versions {
		v, at := &versions[i], at.Index(i)
		if wrong := validation.IsDNS1035Label(v.Name); len(wrong) > 0 {
			errs = append(errs, field.Invalid(at.Child("name"), v.Name, strings.Join(wrong, ",")))
		}
		if seen[v.Name] {
			errs = append(errs, field.Invalid(at.Child("name"), v.Name, "must contain unique version names"))
		}
		seen[v.Name] = true
		if v.Storage {
			stored++
		}
		if v.Schema == nil || v.Schema.OpenAPIV3Schema == nil {
			errs = append(errs, field.Required(at.Child("schema", "openAPIV3Schema"), "schemas are required"))
		}
		if v.DeprecationWarning != nil && !v.Deprecated {
			errs = append(errs, field.Invalid(at.Child("deprecationWarning"), *v.DeprecationWarning, "can only be set for deprecated versions"))
		}
		errs = append(errs, checkShown(v, at)...)
	}
	if stored != 1 {
		errs = append(errs, field.Invalid(at, versionNames(versions), "must have exactly one version marked as storage version"))
	}
	return errs
}

// checkShown checks what a version has for people and for selectors.
func checkShown(v *apiextensionsv1.CustomResourceDefinitionVersion, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, c := range v.AdditionalPrinterColumns {
		at, types := at.Child("additionalPrinterColumns").Index(i), []string{"boolean", "date", "integer", "number", "string"}
		if c.Name == "" {
			errs = append(errs, field.Required(at.Child("name"), ""))
		}
		if !slices.Contains(types, c.Type) {
			errs = append(errs, field.NotSupported(at.Child("type"), c.Type, types))
		}
	}
	for i, f := range v.SelectableFields {
		if !simplePath.MatchString(f.JSONPath) {
			errs = append(errs, field.Invalid(at.Child("selectableFields").Index(i).Child("jsonPath"), f.JSONPath, "must be a simple path to a field"))
		}
	}
	if v.Subresources == nil || v.Subresources.Scale == nil {
		return errs
	}
	s, at := v.Subresources.Scale, at.Child("subresources", "scale")
	path := func(name, path, under string) {
		if !simplePath.MatchString(path) || !strings.HasPrefix(path, under+".") {
			errs = append(errs, field.Invalid(at.Child(name), path, fmt.Sprintf("should be a json path under %s", under)))
		}
	}
	path("specReplicasPath", s.SpecReplicasPath, ".spec")
	path("statusReplicasPath", s.StatusReplicasPath, ".status")
	if s.LabelSelectorPath != nil && *s.LabelSelectorPath != "" && !strings.HasPrefix(*s.LabelSelectorPath, ".spec.") {
		path("labelSelectorPath", *s.LabelSelectorPath, ".status")
	}
	return errs
}

func versionNames(versions []apiextensionsv1.CustomResourceDefinitionVersion) []string {
	names := make([]string, len(versions))
	for i, v := range versions {
		names[i] = v.Name
	}
	return names
}
