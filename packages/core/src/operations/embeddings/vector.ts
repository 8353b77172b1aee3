import type { Json } from '../../base/json/types.ts'

/** Numbers; or base64 of the same numbers as little-endian float32, which is what most clients ask for. */
export type Vector = readonly number[] | string

const floatBytes = 4
/** Arguments that one call of `fromCharCode` surely takes. */
const chunk = 8192

/** Undefined for what is no vector. */
export function decodeVector(value: Json | undefined): Vector | undefined {
  if (typeof value === 'string') {
    const bytes = byteLength(value)
    return bytes !== undefined && bytes > 0 && bytes % floatBytes === 0 ? value : undefined
  }
  if (!Array.isArray(value) || value.length === 0) return undefined
  return value.every((item): item is number => typeof item === 'number') ? value : undefined
}

export const sizeOf = (vector: Vector): number =>
  typeof vector === 'string' ? (byteLength(vector) ?? 0) / floatBytes : vector.length

const base64 = /^[A-Za-z0-9+/]*={0,2}$/

/** Bytes that a base64 text stands for; undefined if it is none. */
function byteLength(text: string): number | undefined {
  if (text.length % 4 !== 0 || !base64.test(text)) return undefined
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0
  return (text.length / 4) * 3 - padding
}

export function toBase64(vector: Vector): string {
  if (typeof vector === 'string') return vector
  const bytes = new Uint8Array(vector.length * floatBytes)
  const view = new DataView(bytes.buffer)
  for (const [index, value] of vector.entries()) view.setFloat32(index * floatBytes, value, true)
  let binary = ''
  for (let at = 0; at < bytes.length; at += chunk) binary += String.fromCharCode(...bytes.subarray(at, at + chunk))
  return btoa(binary)
}

export function toNumbers(vector: Vector): number[] {
  if (typeof vector !== 'string') return [...vector]
  const bytes = Uint8Array.from(atob(vector), (char) => char.charCodeAt(0))
  const view = new DataView(bytes.buffer)
  return Array.from({ length: bytes.length / floatBytes }, (_, index) => view.getFloat32(index * floatBytes, true))
}
