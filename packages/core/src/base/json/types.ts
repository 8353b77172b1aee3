/** A JSON value. A number of a document that is being translated may be an `ExactNumber` (base/json/exact-number.ts); the type leaves that out. */
export type Json = null | boolean | number | string | Json[] | JsonObject

/** A JSON object. */
export type JsonObject = { [key: string]: Json }
