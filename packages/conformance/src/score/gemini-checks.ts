import type { GenerateContentResponse } from '@google/genai'
import { listOf, objectOf, parseJson } from '../base/json.ts'
import type { Check } from './check.ts'
import { requireUnlessLost } from './context.ts'
import { shortPrompt } from './dialect.ts'
import { CheckSkipped, formatValue, must } from './expectations.ts'
import { base64Of, toneBytes } from './media-samples.ts'
import { jsonOf } from './rejection.ts'

/** Checks of generateContent only. */
export const geminiChecks: readonly Omit<Check, 'format'>[] = [
  {
    feature: 'stream events',
    proves: 'Every chunk has parts with the role model, and only the last one has a finish reason.',
    calls: 1,
    async run(context) {
      const chunks: GenerateContentResponse[] = []
      const model = context.model('gemini')
      for await (const chunk of await context.google.models.generateContentStream({ model, contents: shortPrompt }))
        chunks.push(chunk)
      const endings = chunks.map(({ candidates }) => candidates?.[0]?.finishReason)
      must(endings.at(-1) === 'STOP', `the last finish reason is ${formatValue(endings.at(-1))}, expected "STOP"`)
      must(
        endings.slice(0, -1).every((ending) => ending === undefined),
        `the finish reasons are ${formatValue(endings)}`,
      )
      const roles = new Set(chunks.map(({ candidates }) => candidates?.[0]?.content?.role ?? 'model'))
      must([...roles].join() === 'model', `the roles are ${formatValue([...roles])}`)
    },
  },
  {
    feature: 'key in the query',
    proves: 'The API key is accepted in the query if no header has one.',
    calls: 1,
    async run(context) {
      const { target } = context
      if (target.token === undefined) throw new CheckSkipped('no token was given')
      const path = `/v1beta/models/${encodeURIComponent(context.model('gemini'))}:generateContent`
      const body = { contents: [{ parts: [{ text: shortPrompt }] }] }
      const answer = await context.postWithoutKey(`${path}?key=${encodeURIComponent(target.token)}`, body)
      must(listOf(objectOf(await jsonOf(answer)).candidates).length > 0, 'the response has no candidates')
    },
  },
  {
    feature: 'array stream',
    proves: 'Without alt=sse, a stream is one JSON array.',
    calls: 1,
    async run(context) {
      const path = `/v1beta/models/${encodeURIComponent(context.model('gemini'))}:streamGenerateContent`
      const answer = await context.post('gemini', path, { contents: [{ parts: [{ text: shortPrompt }] }] })
      const chunks = await jsonOf(answer)
      must(Array.isArray(chunks) && chunks.length > 0, 'the response is not an array of chunks')
      must(listOf(objectOf(chunks[0]).candidates).length > 0, 'the first chunk has no candidates')
    },
  },
  {
    feature: 'underscores',
    proves: 'Field names in snake_case are accepted.',
    calls: 1,
    async run(context) {
      const path = `/v1beta/models/${encodeURIComponent(context.model('gemini'))}:generateContent`
      const answer = await context.post('gemini', path, {
        contents: [{ role: 'user', parts: [{ text: 'Good morning!' }] }],
        system_instruction: { parts: [{ text: 'Whatever the user says, reply with exactly: PINEAPPLE' }] },
      })
      const text = JSON.stringify(await jsonOf(answer))
      must(/pineapple/i.test(text), `the text is ${formatValue(text)}, expected pineapple`)
    },
  },
  {
    feature: 'google schema',
    proves: 'The response conforms to a schema in Google’s own notation.',
    calls: 1,
    async run(context) {
      const path = `/v1beta/models/${encodeURIComponent(context.model('gemini'))}:generateContent`
      const answer = await context.post('gemini', path, {
        contents: [{ role: 'user', parts: [{ text: 'Tell me about the city of Paris, as JSON.' }] }],
        generationConfig: {
          responseMimeType: 'application/json',
          responseSchema: { type: 'OBJECT', properties: { city: { type: 'STRING' } }, required: ['city'] },
        },
      })
      const [candidate] = listOf(objectOf(await jsonOf(answer)).candidates).map(objectOf)
      const parts = listOf(objectOf(candidate?.content).parts).map(objectOf)
      const text = parts.map(({ text: piece = '' }) => piece).join('')
      must(typeof objectOf(parseJson(text)).city === 'string', `the text does not conform: ${formatValue(text)}`)
    },
  },
  {
    feature: 'candidates',
    proves: 'With candidateCount: 2, two candidates are returned, or the field is rejected by name.',
    calls: 1,
    async run(context) {
      const model = context.model('gemini')
      const { candidates = [] } = await context.optionalFeature(['candidateCount', 'multiple candidates'], () =>
        context.google.models.generateContent({ model, contents: shortPrompt, config: { candidateCount: 2 } }),
      )
      requireUnlessLost(
        context,
        'candidateCount',
        candidates.length === 2,
        `expected 2 candidates, received ${candidates.length}`,
      )
    },
  },
  {
    feature: 'audio',
    proves: 'Audio input is accepted, or rejected as unsupported by the model.',
    calls: 1,
    async run(context) {
      const text = await context.optionalFeature('audio', () =>
        context
          .startConversation('gemini')
          .sendUserMessage({ text: 'Describe this sound in one sentence.' }, { audio: base64Of(toneBytes()) }),
      )
      must(text.text !== '', 'the response has no text')
    },
  },
]
