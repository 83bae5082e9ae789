package json

import (
	"encoding"
	stdjson "encoding/json"
	"reflect"
	"sync"
)

// op says how a plan's values are read.
type op uint8

const (
	opNone op = iota // nothing but null can be read into it
	opBool
	opInt
	opUint
	opFloat
	opString
	opNumber
	opAny
	opPointer
	opStruct
	opSlice
	opArray
	opStringMap  // map[string]string
	opUntypedMap // map[string]any
	opMap        // any other map with string keys
	opUnmarshaler
	opText
	opStd // left to encoding/json
)

// plan is how a type is read. It is complete and never changes once it is out of the cache's
// lock.
type plan struct {
	op op
	// typ is the type of the value that the plan is for.
	typ reflect.Type
	// elem is for what a pointer points to, or for a slice's, array's or map's elements.
	elem   *plan
	fields *fieldSet
	// bits is the size of a number.
	bits int
	// base64 is true for a slice that a string can be read into.
	base64 bool
	// slot is where a state keeps the scratch of the plan, limit how many items that has.
	slot  int
	limit int
	// pointers is set for a type with an UnmarshalJSON whose results may be remembered.
	pointers *pointers
	// moment is true for a type with an UnmarshalJSON that does with a time what moment does.
	moment bool
	// size is what a value of the type takes.
	size uintptr
	// sealed is true for an embedded pointer that isn't exported: it can't be set.
	sealed bool
	// empty is the slice that [] is read as.
	empty sliceHeader
}

var (
	unmarshalerType = reflect.TypeFor[stdjson.Unmarshaler]()
	textType        = reflect.TypeFor[encoding.TextUnmarshaler]()
	numberType      = reflect.TypeFor[stdjson.Number]()
	stringType      = reflect.TypeFor[string]()
	anyType         = reflect.TypeFor[any]()
)

// planCache holds the plans made so far. There are never more than the program has types.
type planCache struct {
	// ready maps pointer types to the *plan of what they point to.
	ready sync.Map
	// mu guards kinds, methods and slots.
	mu sync.Mutex
	// kinds holds plans that don't look at the type's methods. Types that contain themselves
	// end here: a plan is entered before its parts are made.
	kinds map[reflect.Type]*plan
	// methods holds plans of types that read themselves.
	methods map[reflect.Type]*plan
	slots   int
	// texts counts the fields that are strings.
	texts int
}

var plans = planCache{kinds: make(map[reflect.Type]*plan), methods: make(map[reflect.Type]*plan)}

// of returns the plan for what a pointer of type t points to.
func (c *planCache) of(t reflect.Type) *plan {
	if p, ok := c.ready.Load(t); ok {
		return p.(*plan)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.targetLocked(t)
	c.ready.Store(t, p)
	return p
}

// targetLocked returns the plan for what a pointer of type t points to. The methods are those
// of t: a named pointer type has none.
func (c *planCache) targetLocked(t reflect.Type) *plan {
	if p := c.methodsLocked(t); p != nil {
		return p
	}
	return c.kindLocked(t.Elem())
}

// valueLocked returns the plan for a value of type t in a field, an element or a map. Methods
// of types without a name, which they have from embedded fields, don't count.
func (c *planCache) valueLocked(t reflect.Type) *plan {
	if t.Kind() != reflect.Pointer && t.Name() != "" {
		if p := c.methodsLocked(reflect.PointerTo(t)); p != nil {
			return p
		}
	}
	return c.kindLocked(t)
}

// methodsLocked returns the plan by the methods of the pointer type t, or nil.
func (c *planCache) methodsLocked(t reflect.Type) *plan {
	if p := c.methods[t]; p != nil {
		return p
	}
	p := &plan{typ: t.Elem(), size: t.Elem().Size()}
	switch {
	case t.Implements(unmarshalerType):
		p.op, p.pointers, p.slot = opUnmarshaler, pointersOf(p.typ), c.slotLocked()
		p.moment = readsTime(p.typ, kubernetesTime)
	case t.Implements(textType):
		p.op = opText
	default:
		return nil
	}
	c.methods[t] = p
	return p
}

// kindLocked returns the plan by the kind of t.
func (c *planCache) kindLocked(t reflect.Type) *plan {
	if p := c.kinds[t]; p != nil {
		return p
	}
	p := &plan{typ: t, size: t.Size()}
	c.kinds[t] = p
	switch t.Kind() {
	case reflect.Bool:
		p.op = opBool
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		p.op, p.bits = opInt, t.Bits()
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		p.op, p.bits = opUint, t.Bits()
	case reflect.Float32, reflect.Float64:
		p.op, p.bits = opFloat, t.Bits()
	case reflect.String:
		p.op = opString
		if t == numberType {
			p.op = opNumber
		}
	case reflect.Interface:
		p.op = opStd
		if t.NumMethod() == 0 {
			p.op = opAny
		}
	case reflect.Pointer:
		p.op, p.elem = opPointer, c.targetLocked(t)
	case reflect.Struct:
		p.op, p.fields = opStruct, c.fieldsLocked(t)
	case reflect.Array:
		p.op, p.elem = opArray, c.valueLocked(t.Elem())
	case reflect.Slice:
		c.sliceLocked(p)
	case reflect.Map:
		c.mapLocked(p)
	}
	return p
}

func (c *planCache) sliceLocked(p *plan) {
	elem := p.typ.Elem()
	p.op, p.elem = opSlice, c.valueLocked(elem)
	p.base64 = elem.Kind() == reflect.Uint8
	empty := reflect.New(p.typ)
	empty.Elem().Set(reflect.MakeSlice(p.typ, 0, 0))
	p.empty = *as[sliceHeader](empty.UnsafePointer())
	p.limit = min(max(maxScratch/max(int(elem.Size()), 1), minItems), maxItems)
	p.slot = c.slotLocked()
}

func (c *planCache) mapLocked(p *plan) {
	key, elem := p.typ.Key(), p.typ.Elem()
	switch {
	case key == stringType && elem == stringType:
		p.op = opStringMap
	case key == stringType && elem == anyType:
		p.op = opUntypedMap
	case key.Kind() == reflect.String && !reflect.PointerTo(key).Implements(textType):
		p.op, p.elem, p.slot = opMap, c.valueLocked(elem), c.slotLocked()
	default:
		p.op = opStd
	}
}

func (c *planCache) slotLocked() int {
	c.slots++
	return c.slots - 1
}
