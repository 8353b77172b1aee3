import { estimateBytes } from '../accounting/estimate-bytes.ts'
import { type Json, type JsonObject, type Member, scanJson, sourceText } from '../base/json/json.ts'
import { createOutline, type Outline } from '../base/json/outline.ts'
import { checkTopLevel, findReferences } from '../formats/references/find.ts'
import type { ReferenceScheme } from '../formats/references/places.ts'
import type { RequestBody, RequestOutline } from '../formats/request-body.ts'
import { judgeOutline } from '../formats/shared/body-schema.ts'
import { sealPrefix, sealPrefixBase64 } from '../formats/shared/seals.ts'
import { hasSignsOfReferences } from '../operations/references/notice.ts'

const encoder = new TextEncoder()
const seals = [sealPrefix, sealPrefixBase64].map((prefix) => encoder.encode(prefix))

/** Checks for a large body, and its context. */
interface LazyBodyOptions {
  readonly maxDepth: number
  readonly maxValues: number
  /** Adds the path's fields. */
  readonly complete: (body: Json) => Json
  /** Validates the body. Throws GatewayError. */
  readonly validate: (body: Json) => JsonObject
  /** The path's model. */
  readonly model: string | undefined
  readonly modelPrefix: string | undefined
  /** Whether a request for a model probably passes unchanged. */
  readonly likelyPasses: (model: string) => boolean
  /** The scheme of references to stored state. */
  readonly scheme?: ReferenceScheme | undefined
}

/**
 * Checks a large body by its outline: a copy in which long texts are cut to a mark. Decoding and parsing 200 kB take two thirds of a
 * pass-through call; the outline is a small text (docs/decisions/0022).
 *
 *     {"model":"m","messages":[{"content":"…180 kB…"}]}   bytes
 *     {"model":"m","messages":[{"content":"<mark>"}]}     outline ─▶ JSON.parse ─▶ the validators of any body
 *
 * An outline can only accept a body, never reject it. Returns undefined where the body has to be parsed in full: the model probably needs
 * a translation, the body has references or seals, or the outline does not pass the validators. Throws GatewayError for too many values.
 */
export function lazyBody(bytes: Uint8Array, reading: LazyBodyOptions): RequestBody | undefined {
  const model = reading.model ?? findModelName(bytes)
  if (model !== undefined && !reading.likelyPasses(model)) return undefined
  const outline = createOutline(bytes, reading.maxDepth, seals, reading.maxValues)
  if (outline === undefined) return undefined
  const { scheme } = reading
  if (scheme !== undefined)
    checkTopLevel(
      scheme,
      outline.members.map(({ key }) => key),
    )
  try {
    const value = judgeOutline(() => reading.validate(reading.complete(JSON.parse(outline.text) as Json)))
    if (scheme !== undefined && hasReferences(scheme, outline.text, value)) return undefined
    // The gateway may have to write the summary that such a request asks for.
    if (outline.text.includes('"compaction_trigger"')) return undefined
    return new LazyBody(bytes, outline, value, reading)
  } catch {
    return undefined
  }
}

/** Whether a body has references. The outline of an id that was cut still shows that there is one. */
const hasReferences = (scheme: ReferenceScheme, text: string, value: JsonObject): boolean =>
  hasSignsOfReferences(scheme, text, value) && findReferences(scheme, text, value).length > 0

/** Bytes at each end of a body in which the model's name is searched. */
const searchedBytes = 300

/** Guesses the model's name: most clients write it at one end of the body. Used to choose a parser only. */
function findModelName(bytes: Uint8Array): string | undefined {
  const named = /"model"\s*:\s*"([^"\\]+)"/
  for (const start of [0, bytes.length - searchedBytes]) {
    const found = named.exec(sourceText(bytes, start, start + searchedBytes))
    if (found !== null) return found[1]
  }
  return undefined
}

class LazyBody implements RequestBody {
  readonly bytes: Uint8Array
  /** Fields with long texts are read from the full value, which is parsed on first use. */
  readonly fields: JsonObject
  readonly outline: RequestOutline
  readonly modelPrefix: string | undefined
  readonly #complete: LazyBodyOptions['complete']
  #text: string | undefined
  #members: readonly Member[] | undefined
  #value: JsonObject | undefined

  /** @param value the value of the outline */
  constructor(bytes: Uint8Array, outline: Outline, value: JsonObject, { complete, modelPrefix }: LazyBodyOptions) {
    const { members, cutKeys, longTexts: farTexts } = outline
    this.bytes = bytes
    this.modelPrefix = modelPrefix
    this.#complete = complete
    for (const key of cutKeys) value[key] = null
    const read = (fields: JsonObject, key: string): Json | undefined => (cutKeys.has(key) ? this.value : fields)[key]
    this.fields = new Proxy(value, { get: (target, key) => read(target, key as string) })
    this.outline = { members, tokens: estimateBytes(bytes, farTexts) }
  }

  get text(): string {
    this.#text ??= new TextDecoder().decode(this.bytes)
    return this.#text
  }

  get members(): readonly Member[] {
    this.#members ??= scanJson(this.text, Number.POSITIVE_INFINITY).members
    return this.#members
  }

  get value(): JsonObject {
    this.#value ??= this.#complete(JSON.parse(this.text) as Json) as JsonObject
    return this.#value
  }
}
