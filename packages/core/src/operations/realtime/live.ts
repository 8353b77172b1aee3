import { GatewayError } from '../../base/errors.ts'
import { foldName, isObject } from '../../base/json/json.ts'
import { decodeUsage } from '../../formats/gemini/usage-decode.ts'
import { geminiWire } from '../../formats/gemini/wire.ts'
import { type ModelPlaceList, modelPlaces, visitValue } from '../../formats/shared/model-places.ts'
import { notJson, parse } from './messages.ts'
import type { ModelNaming } from './naming.ts'
import { addUsage, type UsageReader } from './usage.ts'

// Sessions of Gemini's Live API. The first message is `{"setup": {"model": "models/…", …}}`, and no later one may have a `setup`.

const { list } = geminiWire.modelPlaces

const below = (path: string): string => (path === '' ? 'setup' : `setup.${path}`)

const mapKeys = <V>(record: Readonly<Record<string, V>>, map: (value: V) => V): Record<string, V> =>
  Object.fromEntries(Object.entries(record).map(([path, value]) => [below(path), map(value)]))

/** All members of a setup that name a model: it has the members of a request to generateContent. */
export const livePlaces = modelPlaces({
  names: list.names.map(below),
  chooses: mapKeys<readonly string[]>(list.chooses ?? {}, (harmless) => harmless),
  sameMembers: mapKeys(list.sameMembers ?? {}, below),
  protobuf: true,
} satisfies ModelPlaceList)

/** Parts of content that a client writes. */
const parts = [
  'setup.systemInstruction.parts[]',
  'clientContent.turns[].parts[]',
  'toolResponse.functionResponses[].parts[]',
] as const

/**
 * Members that refer to state which the provider stores for the operator's account. The gateway has no record of its owner, so another
 * caller could read it.
 */
const storedState = modelPlaces({
  names: [],
  chooses: Object.fromEntries(
    [
      'setup.cachedContent',
      'setup.sessionResumption.handle',
      'setup.tools[].fileSearch',
      'setup.tools[].retrieval',
      ...parts.flatMap((part) => [`${part}.fileData`, `${part}.functionResponse.parts[].fileData`]),
    ].map((path) => [path, []]),
  ),
  protobuf: true,
})

/** Most messages are audio, and have neither. An escape may hide a letter. */
const mayMatter = (text: string): boolean => /setup|file_?data/i.test(text) || text.includes('\\')

function rejectStoredState(text: string): void {
  visitValue(text, storedState.root, {
    name() {},
    choice(path) {
      throw new GatewayError(
        'invalid_request',
        `'${path}' refers to stored state, whose owner is unknown. Leave it out.`,
        {
          param: path,
        },
      )
    },
  })
}

export const liveNaming: ModelNaming = {
  places: modelPlaces({ names: ['setup.model'], protobuf: true }),
  own: new Set(['setup.model']),
  member: 'setup.model',
  prefix: 'models/',
  check: (_event, text) => rejectStoredState(text),
  writeLater(text) {
    if (!mayMatter(text)) return text
    const message = parse(text)
    if (message === undefined) throw notJson()
    if (isObject(message) && Object.keys(message).some((name) => foldName(name) === 'setup'))
      throw new GatewayError('invalid_request', "Only the first message may have a 'setup'.", { param: 'setup' })
    rejectStoredState(text)
    return text
  },
}

/** Each turn reports its own usage once, with `turnComplete`. */
export const liveUsage: UsageReader = {
  sign: '"usageMetadata"',
  begin(record, text) {
    if (text.includes('"modelTurn"') || text.includes('"toolCall"')) record.openResponses = 1
  },
  add(record, { usageMetadata }) {
    const usage = decodeUsage(usageMetadata)
    if (usage === undefined) return
    record.openResponses = 0
    record.usage = addUsage(record.usage, usage)
  },
}
