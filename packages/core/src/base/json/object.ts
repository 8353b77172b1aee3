import { ExactNumber } from './exact-number.ts'
import type { JsonObject } from './types.ts'

/** Whether a value is a JSON object: no list, no null, no `ExactNumber`. */
export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof ExactNumber)

/** Sets a member unless the value is undefined: objects on the wire contain no `undefined`. */
export function put<T extends object, K extends keyof T>(target: T, key: K, value: T[K] | undefined): void {
  if (value !== undefined) target[key] = value
}
