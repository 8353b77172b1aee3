/** The type of a rest pattern that must be empty: `const { a, b, ...rest } = part; rest satisfies Nothing` stops compiling when a field is added and not handled. */
export type Nothing = { readonly [key: string]: never }

/** Sets `key` if `value` is there: wire objects carry no `undefined`. */
export function put<T extends object, K extends keyof T>(target: T, key: K, value: T[K] | undefined): void {
  if (value !== undefined) target[key] = value
}
