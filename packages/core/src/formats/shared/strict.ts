/** The type of a rest pattern that must be empty: `const { a, b, ...rest } = part; rest satisfies Nothing` stops compiling when a field is added and not handled. */
export type Nothing = { readonly [key: string]: never }
