package json

import (
	"reflect"
	"unsafe"
)

// Memory is reached by what stands here. Why that is right:
//
//   - An address is that of a value of the plan's type, in memory that was made as that type or
//     as one that holds it, and always a pointer to the garbage collector. Nothing is made as
//     bytes and filled with pointers.
//   - A plan's offsets and sizes are those that reflect tells of the type.
//   - Values are read and written as the type itself, or as one with the same underlying type,
//     which has the same memory, or word by word. So pointers are written as pointers.

// address is where a value stands.
type address = unsafe.Pointer

// as returns v as a pointer to a T. The value at v is a T, or of a type with the same memory.
func as[T any](v address) *T { return (*T)(v) }

// at returns the address of what stands offset bytes behind v in the same value or array.
func at(v address, offset uintptr) address { return unsafe.Add(v, offset) }

// sliceHeader is the memory of a slice of any type.
type sliceHeader struct {
	data     address
	len, cap int
}

// reflected returns the value at v, addressable, as it is seen without the plan.
func reflected(p *plan, v address) reflect.Value { return reflect.NewAt(p.typ, v).Elem() }

// methods returns a pointer to the value at v, with the methods of its type.
func methods(p *plan, v address) any { return reflect.NewAt(p.typ, v).Interface() }

// isZero reports whether the value at v has no bit set. Its type is one that may be
// remembered.
func isZero(p *plan, v address) bool {
	return unsafe.String((*byte)(v), p.size) == zeros[:p.size]
}

// wordSize is what a pointer takes.
const wordSize = unsafe.Sizeof(uintptr(0))

// copyValue copies a remembered value of the plan's type, which has no pointers but those that
// the plan knows of, over a zero one. A type with pointers is made of whole words.
func copyValue(to, from address, p *plan) {
	if p.pointers.words == 0 {
		copy(unsafe.Slice((*byte)(to), p.size), unsafe.Slice((*byte)(from), p.size))
		return
	}
	for i, words := uintptr(0), p.pointers.words; i < p.size; i, words = i+wordSize, words>>1 {
		if words&1 != 0 {
			*as[address](at(to, i)) = *as[address](at(from, i))
		} else {
			*as[uintptr](at(to, i)) = *as[uintptr](at(from, i))
		}
	}
}

// setNil makes a pointer, map or slice nil. Other values stay as they are, interfaces too, which
// are not read by a plan's null.
func setNil(p *plan, v address) {
	switch p.typ.Kind() {
	case reflect.Pointer, reflect.Map:
		*as[address](v) = nil
	case reflect.Slice:
		*as[sliceHeader](v) = sliceHeader{}
	}
}

// setInt, setUint and setFloat write a number of the plan's size. It fits.
func setInt(p *plan, v address, n int64) {
	switch p.bits {
	case 8:
		*as[int8](v) = int8(n)
	case 16:
		*as[int16](v) = int16(n)
	case 32:
		*as[int32](v) = int32(n)
	default:
		*as[int64](v) = n
	}
}

func setUint(p *plan, v address, n uint64) {
	switch p.bits {
	case 8:
		*as[uint8](v) = uint8(n)
	case 16:
		*as[uint16](v) = uint16(n)
	case 32:
		*as[uint32](v) = uint32(n)
	default:
		*as[uint64](v) = n
	}
}

func setFloat(p *plan, v address, f float64) {
	if p.bits == 32 {
		*as[float32](v) = float32(f)
	} else {
		*as[float64](v) = f
	}
}

// made returns new memory for a value of the plan's type.
func made(p *plan) address {
	switch p.op {
	case opBool:
		return address(new(bool))
	case opInt, opUint, opFloat:
		switch p.bits {
		case 32:
			return address(new(uint32))
		case 64:
			return address(new(uint64))
		}
	case opString:
		return address(new(string))
	}
	return reflect.New(p.typ).UnsafePointer()
}
