// Package safetensors reads and writes the tensor container of that name, like Python's safetensors:
//
//	u64 little-endian   length N of the header
//	N bytes             JSON object: name -> {"dtype","shape","data_offsets"}, "__metadata__" -> {string: string}
//	the rest            the tensors' values, row-major, little-endian float64: the only type of this package
//
// Offsets count from the end of the header and cover the rest without hole or overlap. Write pads the header with
// spaces to a multiple of 8 bytes, so that values are aligned in a mapped file. Files are not trusted: Read checks a
// file against the length of the input before it allocates, and an error names the tensor.
package safetensors
