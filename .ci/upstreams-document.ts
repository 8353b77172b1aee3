import type { Quirks, Upstream } from '@modelgate/core'
import { createExample, providerCatalog } from '@modelgate/core/catalog'
import { table } from './markdown-table.ts'

/** The upstream of each provider, for the tables of docs/upstreams.md. */
const made = Object.fromEntries(
  Object.entries(providerCatalog).map(([name, entry]): [string, Upstream] => [name, createExample(entry)]),
)

/** Placeholders of addresses. */
const placeholders: readonly (readonly [example: string, meaning: string])[] = [
  ['https://resource.', 'https://{resource}.'],
  ['.region.', '.{region}.'],
  ['/projects/project/', '/projects/{project}/'],
]
const shown = (address: string): string => {
  let text = address
  for (const [example, meaning] of placeholders) text = text.replace(example, meaning)
  return `\`${text}\``
}
const listed = (words: readonly string[]): string => words.join(', ') || '–'

export function catalogTable(): string {
  const rows = Object.entries(providerCatalog).map(([name, entry]) => {
    const { baseURL, formats, operations = {}, countTokens = {}, realtime } = createExample(entry)
    const extras = [
      ...Object.entries(operations).map(([operation, dialects]) => {
        const [dialect] = Object.keys(dialects)
        return dialect === 'openai' || operation === 'realtime-sessions' ? operation : `${operation} (${dialect})`
      }),
      ...Object.keys(countTokens).map((format) => `token counts (${format})`),
      ...(realtime === undefined ? [] : ['realtime']),
    ]
    return [
      `[${entry.title}](${entry.documentation})`,
      `\`${name}\``,
      shown(baseURL),
      listed(Object.keys(formats)),
      listed(extras),
    ]
  })
  return table(['provider', 'factory', 'default address', 'formats, best first', 'other operations'], ...rows)
}

/** Description of each quirk; a missing one does not compile. */
const meanings: { readonly [Q in keyof Required<Quirks>]: readonly [format: string, meaning: string] } = {
  maxTokensField: [
    'chat',
    'the field that bounds the tokens of an answer; `either`: unknown, so the field of the client is sent',
  ],
  developerRole: ['chat', 'the role of developer turns; `either` as above'],
  streamOptions: ['chat', '`false`: no `stream_options`; `implied`: every stream tells its usage without'],
  lacks: ['chat', 'fields that are `refused`, `limited` to their default, or `ignored`'],
  fieldNames: ['chat', 'fields under names of its own'],
  efforts: ['chat', 'words of `reasoning_effort`; for others the nearest is sent'],
  thinkingSwitch: ['chat', "`thinking: {type: 'disabled'}` switches reasoning off, in place of the effort `none`"],
  jsonFormats: ['chat', 'which of `json_object` and `json_schema` there are; for the other the nearest is sent'],
  toolChoices: [
    'chat',
    '`words`: no tool can be chosen by name; `names`: one can, but not several. Fewer tools are sent instead',
  ],
  shortCallIds: ['chat', 'ids of calls are nine letters and digits; others are replaced, the same in every turn'],
  alternatingRoles: ['chat', 'user and assistant take turns; messages of one role in a row are sent as one'],
  doneOptional: ['chat', 'streams may end without `[DONE]`, by the finish reason of every choice'],
  cacheControl: ['chat', 'cache hints (`cache_control`) are understood'],
  topK: ['chat', '`top_k` is understood'],
  reasoningObject: ['chat', '`reasoning: {effort, max_tokens}` in place of `reasoning_effort`'],
  reasoningField: ['chat', 'the field of assistant messages that takes earlier reasoning back'],
  documentUrls: ['chat', 'how a document by its address is written'],
  bareAudio: ['chat', '`input_audio` holds the audio itself'],
  sealedReasoning: ['responses', 'whether sealed reasoning can be asked for'],
  thinking: ['messages', 'how reasoning is asked for'],
  systemTurns: ['messages', 'system messages may stand in the middle of a conversation'],
  laterChanges: [
    'messages, responses',
    'settings that may change within a conversation (`effort`, `tools`); elsewhere the last values apply to the whole request',
  ],
  threads: [
    'messages',
    "the server keeps threads; elsewhere a call with `thread` is refused, and Anthropic's SDK sends the whole conversation",
  ],
  defaultMaxTokens: ['messages', '`max_tokens` where the client names none'],
}

export function quirkTable(): string {
  const users = (quirk: string): string[] =>
    Object.entries(made).flatMap(([name, { quirks }]) => (Object.hasOwn(quirks, quirk) ? [`\`${name}\``] : []))
  const rows = Object.entries(meanings).map(([quirk, [format, meaning]]) => [
    `\`${quirk}\``,
    format,
    meaning,
    listed(users(quirk)),
  ])
  return table(['quirk', 'of', 'what it says', 'who has it'], ...rows)
}

/** Returns the chat fields that each upstream lacks. */
export function lacksTable(): string {
  const rows = Object.entries(made).flatMap(([name, { quirks }]) => {
    if (quirks.lacks === undefined) return []
    const of = (...fates: string[]): string =>
      listed(
        Object.entries(quirks.lacks ?? {})
          .filter(([, fate]) => fates.includes(fate))
          .map(([field, fate]) => `\`${field}\`${fate === 'limited' ? ' (but its default)' : ''}`),
      )
    return [[`\`${name}\``, of('refused', 'limited'), of('ignored')]]
  })
  return table(['upstream', 'refuses: withheld and reported', 'ignores: reported'], ...rows)
}

/** Returns the other declarations of the upstreams. */
export function valuesTable(): string {
  const rows = Object.entries(made).flatMap(([name, { quirks }]) => {
    const said = Object.entries(quirks).filter(([quirk]) => quirk !== 'lacks')
    if (said.length === 0) return []
    return [
      [
        `\`${name}\``,
        said.map(([quirk, value]) => `\`${quirk}: ${JSON.stringify(value).replaceAll('"', "'")}\``).join(' '),
      ],
    ]
  })
  return table(['upstream', 'quirks'], ...rows)
}
