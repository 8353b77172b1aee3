import { ExactNumber } from './exact-number.ts'
import type { JsonObject } from './types.ts'

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof ExactNumber)

/** Sets `key` if `value` is there: wire objects carry no `undefined`. */
export function put<T extends object, K extends keyof T>(target: T, key: K, value: T[K] | undefined): void {
  if (value !== undefined) target[key] = value
}
