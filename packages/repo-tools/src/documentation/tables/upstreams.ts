import type { Quirks, Upstream } from '@modelgate/core'
import { createExample, providerCatalog } from '@modelgate/core/catalog'
import { table } from '../markdown-table.ts'

/** The upstream of each provider, for the tables of docs/reference/upstreams.md. */
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
    const {
      baseURL,
      formats,
      operations = {},
      countTokens = {},
      webSockets = [],
      realtime,
      live,
    } = createExample(entry)
    const extras = [
      ...Object.entries(operations).map(([operation, dialects]) => {
        const [dialect] = Object.keys(dialects)
        return dialect === 'openai' || operation === 'realtime-sessions' ? operation : `${operation} (${dialect})`
      }),
      ...Object.keys(countTokens).map((format) => `token counts (${format})`),
      ...webSockets.map((format) => `WebSocket (${format})`),
      ...(realtime === undefined ? [] : ['realtime']),
      ...(live === undefined ? [] : ['Live API']),
    ]
    return [
      `[${entry.title}](${entry.documentation})`,
      `\`${name}\``,
      shown(baseURL),
      listed(Object.keys(formats)),
      listed(extras),
    ]
  })
  return table(['provider', 'factory', 'default URL', 'formats, preferred first', 'other operations'], ...rows)
}

/** Description of each quirk; a missing one does not compile. */
const meanings: { readonly [Q in keyof Required<Quirks>]: readonly [format: string, meaning: string] } = {
  maxTokensField: ['chat', 'field that limits output tokens; `either`: unknown, so the field of the client is sent'],
  developerRole: ['chat', 'role of developer messages; `either` as above'],
  streamOptions: ['chat', '`false`: no `stream_options`; `implied`: every stream reports usage without it'],
  lacks: ['chat', 'fields that are `refused`, `limited` to their default, or `ignored`'],
  fieldNames: ['chat', 'fields with other names'],
  efforts: ['chat', 'accepted values of `reasoning_effort`; other values are sent as the nearest'],
  thinkingSwitch: ['chat', "`thinking: {type: 'disabled'}` disables reasoning instead of the effort `none`"],
  jsonFormats: ['chat', 'accepted types among `json_object` and `json_schema`; the other is sent as the nearest'],
  toolChoices: [
    'chat',
    '`words`: no choice of a tool by name; `names`: a choice of one tool, but not of several. Fewer tools are sent instead',
  ],
  shortCallIds: ['chat', 'call ids must be nine letters and digits; other ids are replaced, consistently in all turns'],
  alternatingRoles: ['chat', 'user and assistant must alternate; consecutive messages of one role are sent as one'],
  doneOptional: ['chat', 'streams may end without `[DONE]`, after the finish reason of every choice'],
  cacheControl: ['chat', 'accepts cache hints (`cache_control`)'],
  topK: ['chat', 'accepts `top_k`'],
  reasoningObject: ['chat', '`reasoning: {effort, max_tokens}` instead of `reasoning_effort`'],
  reasoningField: ['chat', 'field of assistant messages for earlier reasoning'],
  documentUrls: ['chat', 'field for a document URL'],
  bareAudio: ['chat', '`input_audio` contains the audio directly'],
  sealedReasoning: ['responses', 'whether encrypted reasoning can be requested'],
  thinking: ['messages', 'how reasoning is requested'],
  systemTurns: ['messages', 'accepts system messages in the middle of a conversation'],
  laterChanges: [
    'messages, responses',
    'settings that may change during a conversation (`effort`, `tools`); without it, the last values apply to the whole request',
  ],
  threads: [
    'messages',
    "the server stores threads; without it, a call with `thread` is rejected, and Anthropic's SDK sends the whole conversation",
  ],
  defaultMaxTokens: ['messages', '`max_tokens` if the client sets none'],
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
  return table(['quirk', 'format', 'meaning', 'providers'], ...rows)
}

/** Returns the chat fields that each upstream lacks. */
export function lacksTable(): string {
  const rows = Object.entries(made).flatMap(([name, { quirks }]) => {
    if (quirks.lacks === undefined) return []
    const of = (...fates: string[]): string =>
      listed(
        Object.entries(quirks.lacks ?? {})
          .filter(([, support]) => fates.includes(support))
          .map(([field, support]) => `\`${field}\`${support === 'limited' ? ' (except its default)' : ''}`),
      )
    return [[`\`${name}\``, of('refused', 'limited'), of('ignored')]]
  })
  return table(['upstream', 'rejects: removed and reported', 'ignores: reported'], ...rows)
}

/** Returns the other declarations of the upstreams. */
export function valuesTable(): string {
  const rows = Object.entries(made).flatMap(([name, { quirks }]) => {
    const settings = Object.entries(quirks).filter(([quirk]) => quirk !== 'lacks')
    if (settings.length === 0) return []
    return [
      [
        `\`${name}\``,
        settings.map(([quirk, value]) => `\`${quirk}: ${JSON.stringify(value).replaceAll('"', "'")}\``).join(' '),
      ],
    ]
  })
  return table(['upstream', 'quirks'], ...rows)
}
