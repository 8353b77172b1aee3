const encoder = new TextEncoder()
const decoder = new TextDecoder()

/** An object that has no primitive form: `String` and templates throw for it. */
const wordless = { toString: 1, valueOf: 2 }

/** Yields the JSON document with such an object in place of each of its values, and the place. */
export function* withUnprintableValues(document: Uint8Array): Generator<{ body: Uint8Array; place: string }> {
  const whole = JSON.parse(decoder.decode(document)) as object
  const replaced = function* (holder: object, at: string): ReturnType<typeof withUnprintableValues> {
    for (const [key, own] of Object.entries(holder)) {
      const place = `${at}/${key}`
      for (const value of [wordless, [wordless]]) {
        Object.assign(holder, { [key]: value })
        yield { body: encoder.encode(JSON.stringify(whole)), place }
      }
      Object.assign(holder, { [key]: own })
      if (typeof own === 'object' && own !== null) yield* replaced(own, place)
    }
  }
  yield* replaced(whole, '')
}
