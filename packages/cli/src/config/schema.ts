import type { ModelCard, ReferenceKind } from '@modelgate/core'
import { providerCatalog } from '@modelgate/core/catalog'
import { captures } from './capture.ts'
import { type OptionType, optionTypes } from './provider-options.ts'
import { logFormats, logLevels } from './server-log.ts'

type Schema = { readonly [name: string]: unknown }

const keys: Schema = {
  description: 'One API key, or several. Calls are distributed among several keys.',
  anyOf: [
    { type: 'string' },
    {
      type: 'array',
      items: {
        anyOf: [
          { type: 'string' },
          { type: 'object', properties: { key: { type: 'string' }, weight: { type: 'number' } }, required: ['key'] },
        ],
      },
    },
  ],
}

function schemaOf(kind: OptionType): Schema {
  if (kind === 'keys') return keys
  if (kind === 'text') return { type: 'string' }
  if (kind === 'texts') return { type: 'array', items: { type: 'string' } }
  if (kind === 'flag') return { type: 'boolean' }
  if (kind === 'object') return { type: 'object' }
  if (kind === 'objects') return { type: 'array', items: { type: 'object' } }
  return 'someOf' in kind ? { type: 'array', items: { enum: kind.someOf } } : { enum: kind }
}

const reference: Schema = {
  anyOf: [{ enum: ['own', 'pass'] }, { type: 'array', items: { type: 'string', minLength: 1 } }],
}
const references = {
  responses: reference,
  conversations: reference,
  prompts: reference,
  files: reference,
  containers: reference,
  vectorStores: reference,
  caches: reference,
  batches: reference,
  calls: reference,
  skills: reference,
  voices: reference,
  guardrails: reference,
} satisfies Record<ReferenceKind, Schema>

const upstream: Schema = {
  type: 'object',
  required: ['provider'],
  properties: {
    provider: {
      enum: Object.keys(providerCatalog),
      description: 'A provider of the catalog: see docs/reference/upstreams.md.',
    },
  },
  oneOf: Object.entries(providerCatalog).map(([name, entry]) => ({
    type: 'object',
    additionalProperties: false,
    required: ['provider', ...(entry.required ?? [])],
    properties: {
      provider: { const: name },
      ...Object.fromEntries(Object.entries(optionTypes(entry)).map(([option, type]) => [option, schemaOf(type)])),
    },
  })),
}

const ms = { type: 'number', exclusiveMinimum: 0 }
const bytes = { type: 'integer', minimum: 1 }
const onLoss = {
  enum: ['ignore', 'warn', 'reject'],
  description: 'Policy for requests that a translation cannot preserve completely. Default: warn.',
}
const conditions = ['tools', 'images', 'audio', 'video', 'documents', 'json', 'reasoning', 'stream', 'fits']

const tokens = { type: 'integer', minimum: 1 }
const amount = { type: 'number', minimum: 0 }
const modalities: Schema = { type: 'array', items: { enum: ['text', 'image', 'audio', 'video', 'document'] } }
const cardFacts: Schema = {
  name: { type: 'string' },
  contextWindow: tokens,
  maxInput: tokens,
  maxOutput: tokens,
  modalities: {
    type: 'object',
    additionalProperties: false,
    properties: { input: modalities, output: modalities },
  },
  capabilities: {
    type: 'object',
    additionalProperties: false,
    properties: {
      tools: { type: 'boolean' },
      structuredOutputs: { type: 'boolean' },
      caching: { type: 'boolean' },
      reasoning: { type: 'boolean' },
      efforts: { type: 'array', items: { enum: ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] } },
      reasoningBudget: { type: 'boolean' },
    },
  },
  prices: {
    type: 'object',
    additionalProperties: false,
    properties: {
      currency: { type: 'string' },
      input: amount,
      output: amount,
      cachedInput: amount,
      cacheWrite: amount,
      image: amount,
      minute: amount,
      characters: amount,
      request: amount,
    },
  },
} satisfies Record<keyof ModelCard, Schema>
const card: Schema = {
  type: 'object',
  description: 'Facts about the model: see docs/guide/model-cards.md.',
  additionalProperties: false,
  properties: cardFacts,
}

const target: Schema = {
  type: 'object',
  additionalProperties: false,
  required: ['upstream'],
  properties: {
    upstream: { type: 'string' },
    model: {
      type: 'string',
      description:
        "Model name at the upstream. Each `*` is replaced by the text that the `*` of the route's name matched.",
    },
    onLoss,
    priority: { type: 'number', description: 'Targets with the lowest number are tried first. Default: 0.' },
    weight: { type: 'number', exclusiveMinimum: 0 },
    when: { anyOf: [{ enum: conditions }, { type: 'array', items: { enum: conditions } }] },
    card: { $ref: '#/$defs/card' },
    defaults: { type: 'object' },
    overrides: { type: 'object' },
    cache: {
      const: 'auto',
      description:
        'Asks the provider to cache prompts, for clients that do not ask for it: see docs/recipes/prompt-caching.md.',
    },
    limits: {
      type: 'object',
      additionalProperties: false,
      properties: { connectMs: ms, firstByteMs: ms, idleMs: ms, totalMs: ms },
    },
  },
}
const targets: Schema = {
  type: 'array',
  minItems: 1,
  items: { anyOf: [{ type: 'string' }, { $ref: '#/$defs/target' }] },
}
const retry: Schema = {
  anyOf: [
    { const: false },
    {
      type: 'object',
      additionalProperties: false,
      properties: Object.fromEntries(
        ['attempts', 'maxWaitMs', 'stayMs', 'backoffMs', 'maxBackoffMs', 'budgetRatio', 'budgetFloor'].map((name) => [
          name,
          { type: 'number' },
        ]),
      ),
    },
  ],
}

const text = (description: string): Schema => ({ type: 'string', description })

/** The JSON schema of `modelgate.config.json`, for editors. */
export const configSchema: Schema = {
  $schema: 'http://json-schema.org/draft-07/schema#',
  title: 'modelgate.config.json',
  description: `Every string can contain \${NAME} and \${NAME:-default}, which are replaced by environment variables.`,
  type: 'object',
  additionalProperties: false,
  properties: {
    $schema: { type: 'string' },
    port: {
      anyOf: [{ type: 'integer', minimum: 0, maximum: 65_535 }, { type: 'string' }],
      description: 'Port to listen on; 0 selects any free port. Default: 8787.',
    },
    host: text('Address to listen on. Default: 127.0.0.1, this machine only.'),
    basePath: text('Path prefix of all routes, such as /ai.'),
    auth: { const: 'none', description: 'Accepts every call without authentication.' },
    token: text('Accepted API key. Default: generated for each run if nothing else authenticates callers.'),
    data: text('Folder of issued tokens and their usage.'),
    redis: {
      description:
        'Redis for issued tokens and stored responses, in place of `data`, for several servers: an address, or an object with timeouts in milliseconds.',
      anyOf: [
        { type: 'string' },
        {
          type: 'object',
          additionalProperties: false,
          properties: {
            url: { type: 'string' },
            timeoutMs: ms,
            commandMs: ms,
            connectMs: ms,
            localMs: { type: 'number', minimum: 0 },
            staleMs: { type: 'number', minimum: 0 },
            leases: { type: 'boolean' },
          },
        },
      ],
    },
    prices: {
      anyOf: [{ type: 'string' }, { type: 'object' }],
      description: 'Prices of models: a JSON file, or its content.',
    },
    ledger: text('Folder of the ledger: a record of each call.'),
    upstreams: {
      type: 'object',
      additionalProperties: { $ref: '#/$defs/upstream' },
      description: 'Upstreams by name.',
    },
    models: {
      type: 'object',
      description: 'Model routes by the model name that clients send. A `*` matches any text.',
      additionalProperties: {
        anyOf: [
          { type: 'string' },
          { $ref: '#/$defs/target' },
          targets,
          {
            type: 'object',
            additionalProperties: false,
            required: ['targets'],
            properties: {
              targets,
              strategy: { enum: ['order', 'weighted', 'fastest', 'sticky'] },
              preferLossless: { type: 'boolean' },
              card: { $ref: '#/$defs/card' },
              retry,
              hedgeMs: ms,
              holdUntil: { enum: ['first-event', 'end'] },
            },
          },
        ],
      },
    },
    listedModels: {
      type: 'array',
      items: { type: 'string', minLength: 1 },
      description:
        'Names that model lists contain in addition to the exact names of `models`. Each must match a name with a `*`.',
    },
    modelCards: {
      type: 'object',
      description: 'Facts about models: where they come from, and who sees prices.',
      additionalProperties: false,
      properties: {
        table: {
          description: 'Cards in place of the shipped ones. false: none.',
          anyOf: [
            { const: false },
            {
              type: 'object',
              additionalProperties: false,
              required: ['checked', 'cards'],
              properties: {
                checked: { type: 'string' },
                cards: {
                  type: 'array',
                  items: {
                    type: 'object',
                    additionalProperties: false,
                    required: ['model'],
                    properties: {
                      model: { type: 'string' },
                      host: { type: 'string' },
                      source: { type: 'string' },
                      ...cardFacts,
                    },
                  },
                },
              },
            },
          ],
        },
        prices: {
          type: 'boolean',
          description: 'Model lists also show the prices of plugins and of the table. Default: false.',
        },
      },
    },
    console: {
      description: 'The home page and the Playground.',
      anyOf: [
        { type: 'boolean' },
        {
          type: 'object',
          additionalProperties: false,
          properties: {
            playground: { type: 'boolean' },
            explain: { type: 'boolean' },
            documentation: { type: 'string', description: 'Address of the documentation that the home page links to.' },
          },
        },
      ],
    },
    capture: {
      description:
        'bodies, or limits in bytes: the recent calls keep requests and responses in memory, for holders of MODELGATE_ADMIN_TOKEN. Default: off.',
      anyOf: [
        { enum: captures },
        {
          type: 'object',
          additionalProperties: false,
          properties: { maxBodyBytes: bytes, maxTotalBytes: bytes },
        },
      ],
    },
    otel: { anyOf: [{ type: 'boolean' }, { type: 'object' }], description: 'OpenTelemetry spans and metrics.' },
    onLoss,
    explain: {
      type: 'boolean',
      description:
        'Permits clients to add ?modelgate=explain, which returns the upstream request without sending it. Default: false.',
    },
    responses: { type: 'object', properties: { store: { const: false }, ttlMs: ms } },
    objects: {
      type: 'object',
      description: 'Files and conversations that clients create at upstreams.',
      additionalProperties: false,
      properties: { upstreams: { type: 'array', items: { type: 'string' } }, ttlMs: ms },
    },
    compaction: {
      description:
        "Compaction of conversations for upstreams that cannot compact them. refuse: such requests get a 400. An object: a model writes a summary. Default: the requested model, with the gateway's own prompt.",
      anyOf: [
        { const: 'refuse' },
        {
          type: 'object',
          additionalProperties: false,
          properties: {
            model: { type: 'string', description: 'Model that writes the summary. Default: the requested model.' },
            prompt: { type: 'string', minLength: 1, description: 'Instruction for the summary.' },
            secret: {
              type: 'string',
              minLength: 32,
              description:
                'Encrypts summaries. Set the same one in all processes. Default: a random one of the process.',
            },
          },
        },
      ],
    },
    references: {
      type: 'object',
      description:
        "References to stored objects that requests may contain, by kind. own: the caller's own objects. pass: all objects. A list: these ids, in addition to the caller's own.",
      additionalProperties: false,
      properties: references,
    },
    limits: { type: 'object', additionalProperties: { type: 'number', exclusiveMinimum: 0 } },
    retry,
    breaker: { anyOf: [{ const: false }, { type: 'object', additionalProperties: { type: 'number' } }] },
    logger: { const: false, description: 'false: warnings and errors of the gateway are not logged.' },
    log: { enum: logFormats, description: 'Format of the log. Default: pretty on a terminal, else json.' },
    logLevel: { enum: logLevels, description: 'Lowest level that is logged. Default: info.' },
    workers: {
      description: 'Number of processes that serve calls; auto: one for each processor core. Default: 1.',
      anyOf: [{ const: 'auto' }, { type: 'integer', minimum: 1, maximum: 128 }],
    },
  },
  $defs: { upstream, target, card },
}
