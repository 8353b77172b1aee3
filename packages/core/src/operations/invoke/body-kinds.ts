import { GatewayError } from '../../base/errors.ts'
import type { JsonObject } from '../../base/json/json.ts'
import type { Format, Operation } from '../../base/names.ts'

/** A format of InvokeModel's bodies, which is that of the model's vendor. */
export interface BodyKind {
  readonly title: string
  /** Members that such a body has. */
  readonly has: readonly string[]
  /** Members that only bodies of other formats have. */
  readonly lacks?: readonly string[]
  readonly operation: Extract<Operation, 'generate' | 'embeddings'>
  /** For generation: the client's format. For embeddings: the format whose codec writes errors. */
  readonly format: Extract<Format, 'messages' | 'chat' | 'converse'>
  /** For embeddings: the dialect. */
  readonly dialect?: string
}

/** The served formats. A body has the first one whose members it has, whatever the model's name is. */
const bodyKinds: readonly BodyKind[] = [
  {
    title: 'Anthropic Messages (`anthropic_version`)',
    has: ['anthropic_version'],
    operation: 'generate',
    format: 'messages',
  },
  {
    title: 'OpenAI chat completions (`messages`)',
    has: ['messages'],
    // Of Nova, whose messages have the form of Converse.
    lacks: ['schemaVersion', 'inferenceConfig'],
    operation: 'generate',
    format: 'chat',
  },
  {
    title: 'embeddings of Titan (`inputText`)',
    has: ['inputText'],
    lacks: ['textGenerationConfig'],
    operation: 'embeddings',
    format: 'converse',
    dialect: 'titan',
  },
  {
    title: 'embeddings of Cohere (`texts` and `input_type`)',
    has: ['texts', 'input_type'],
    operation: 'embeddings',
    format: 'converse',
    dialect: 'cohere-invoke',
  },
]

interface RefusedKind {
  readonly title: string
  /** Members by which such a body is known. The first one is named in the error. */
  readonly has: readonly [string, ...string[]]
}

/** Formats of vendors whose models all have Converse. The first one names a body that is refused. */
const refusedKinds: readonly RefusedKind[] = [
  { title: 'Amazon Nova (`schemaVersion`)', has: ['schemaVersion'] },
  { title: 'Amazon Nova (`inferenceConfig`)', has: ['inferenceConfig'] },
  {
    title: 'text models of Amazon Titan (`inputText` and `textGenerationConfig`)',
    has: ['textGenerationConfig', 'inputText'],
  },
  { title: 'image models of Amazon (`taskType`)', has: ['taskType'] },
  { title: 'Meta Llama (`prompt` and `max_gen_len`)', has: ['max_gen_len', 'prompt'] },
  { title: 'Claude’s text completions (`prompt` and `max_tokens_to_sample`)', has: ['max_tokens_to_sample', 'prompt'] },
  { title: 'models that complete a text, such as Mistral and DeepSeek (`prompt`)', has: ['prompt'] },
  { title: 'Cohere Command (`message`)', has: ['message'] },
]

/** Returns the format of a body. Throws GatewayError `invalid_request` for a body of another format. */
export function bodyKindOf(body: JsonObject): BodyKind {
  const has = (name: string): boolean => body[name] !== undefined
  const found = bodyKinds.find((kind) => kind.has.every(has) && !(kind.lacks ?? []).some(has))
  if (found !== undefined) return found
  const titles = bodyKinds.map(({ title }) => title).join(', ')
  const refused = refusedKinds.find((kind) => kind.has.every(has))
  if (refused !== undefined)
    throw new GatewayError(
      'invalid_request',
      `Malformed input request: this is a body of ${refused.title}, which the gateway's InvokeModel does not accept. To call such a model, use Converse, whose bodies are the same for all models. InvokeModel accepts ${titles}.`,
      { param: refused.has[0] },
    )
  throw new GatewayError(
    'invalid_request',
    `Malformed input request: the gateway knows no format with these fields. InvokeModel accepts ${titles}. For all other models, use Converse.`,
  )
}
