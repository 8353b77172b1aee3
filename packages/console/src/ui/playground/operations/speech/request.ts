import type { Api } from '../../formats/format.ts'
import { textOf } from '../../formats/read.ts'
import type { AsCode, Snippet } from '../../inspect/as-code.ts'
import { numberOf } from '../../settings/draft.ts'
import { createApi } from '../apis.ts'
import { openAiSnippets } from '../code/openai.ts'
import type { OperationCalls, OperationDraft, ReadDraft } from '../operation.ts'

export interface SpeechDraft extends OperationDraft {
  readonly text: string
  readonly voice: string
  readonly format: string
  readonly speed: string
  readonly instructions: string
}

const firstDraft: SpeechDraft = {
  model: '',
  extra: '',
  text: '',
  voice: 'alloy',
  format: '',
  speed: '',
  instructions: '',
}

const speechApi: Api = createApi({
  id: 'speech',
  name: 'Speech',
  isAnswer: () => false,
  readFile: () => [{ type: 'finish', reason: 'complete' }],
})

function read({ text, voice, format, speed, instructions }: SpeechDraft): ReadDraft {
  const rate = numberOf(speed)
  return {
    path: '/v1/audio/speech',
    body: {
      input: text,
      voice: voice.trim(),
      ...(format === '' ? {} : { response_format: format }),
      ...(rate === undefined || rate === 'wrong' ? {} : { speed: rate }),
      ...(instructions.trim() === '' ? {} : { instructions: instructions.trim() }),
    },
    wrongs: rate === 'wrong' ? { speed: 'Enter a number such as 1.25.' } : {},
    missing: text.trim() === '' ? 'Enter a text.' : voice.trim() === '' ? 'Enter a voice.' : undefined,
  }
}

/** The API's default is MP3. */
const formatOf = (body: AsCode['request']['body']): string => textOf(body.response_format) || 'mp3'

function snippets(call: AsCode): readonly Snippet[] {
  const file = `speech.${formatOf(call.request.body)}`
  return openAiSnippets(
    { ...call, output: { file } },
    {
      method: 'audio.speech.create',
      known: ['model', 'input', 'voice', 'response_format', 'speed', 'instructions', 'stream_format'],
      javascript: `writeFileSync('${file}', Buffer.from(await response.arrayBuffer()))`,
      python: `response.write_to_file("${file}")`,
    },
  )
}

export const speechCalls: OperationCalls<SpeechDraft> = {
  firstDraft,
  apis: [speechApi],
  api: () => speechApi,
  read,
  snippets,
}
