import { toFile } from 'openai'
import type { Check } from './check.ts'
import { formatValue, must } from './expectations.ts'
import { bytesOf, redPicture, toneBytes } from './media-samples.ts'

/** Detects the four common image types by their first bytes. */
const isPicture = (base64: string): boolean => /^(iVBORw0KGgo|\/9j\/|UklGR|R0lGOD)/.test(base64)

interface Picture {
  readonly b64_json?: string
  readonly url?: string
}

function picture(data: readonly Picture[] | undefined): void {
  const { b64_json, url } = data?.[0] ?? {}
  must(b64_json !== undefined || url !== undefined, `the response has no image: ${formatValue(data)}`)
  if (b64_json !== undefined) must(isPicture(b64_json), `these bytes are not an image: ${formatValue(b64_json)}`)
  else must(URL.canParse(url ?? ''), `the image URL is ${formatValue(url)}`)
}

const tone = () => toFile(toneBytes(), 'tone.wav', { type: 'audio/wav' })

/** Checks of images and audio. */
export const mediaOperations: readonly Check[] = [
  {
    format: 'images',
    hasExtraPaths: true,
    feature: 'generate',
    needs: 'image',
    proves: 'A prompt produces an image.',
    calls: 1,
    async run(context) {
      const model = context.modelFor('image')
      const { data } = await context.openai.images.generate({
        model,
        prompt: 'A red circle on white.',
        size: '1024x1024',
      })
      picture(data)
    },
  },
  {
    format: 'images',
    hasExtraPaths: true,
    feature: 'edit',
    needs: 'image',
    proves: 'An uploaded image is edited.',
    calls: 1,
    async run(context) {
      const model = context.modelFor('image')
      const image = await toFile(bytesOf(redPicture), 'red.png', { type: 'image/png' })
      picture((await context.openai.images.edit({ model, image, prompt: 'Make it blue.' })).data)
    },
  },
  {
    format: 'transcriptions',
    feature: 'json',
    needs: 'transcription',
    proves: 'An uploaded audio file is transcribed.',
    calls: 1,
    isEntry: true,
    async run(context) {
      const model = context.modelFor('transcription')
      const { text } = await context.openai.audio.transcriptions.create({ model, file: await tone() })
      must(typeof text === 'string', `the text is ${formatValue(text)}`)
    },
  },
  {
    format: 'transcriptions',
    feature: 'plain text',
    needs: 'transcription',
    proves: 'The transcript is plain text if requested, or the format is rejected by name.',
    calls: 1,
    async run(context) {
      const model = context.modelFor('transcription')
      const file = await tone()
      const text: unknown = await context.optionalFeature('response_format', () =>
        context.openai.audio.transcriptions.create({ model, file, response_format: 'text' }),
      )
      must(typeof text === 'string', `the response is ${formatValue(text)}`)
    },
  },
  {
    format: 'transcriptions',
    feature: 'stream',
    needs: 'transcription',
    proves: 'The transcript is streamed as events that end with the full text, or streaming is rejected by name.',
    calls: 1,
    async run(context) {
      const model = context.modelFor('transcription')
      const file = await tone()
      const types: string[] = []
      await context.optionalFeature('stream', async () => {
        const stream = await context.openai.audio.transcriptions.create({ model, file, stream: true })
        for await (const event of stream) types.push(event.type)
      })
      must(types.at(-1) === 'transcript.text.done', `the events are ${formatValue(types)}`)
    },
  },
  {
    format: 'speech',
    feature: 'sound',
    needs: 'speech',
    proves: 'A text becomes audio with an audio content type.',
    calls: 1,
    isEntry: true,
    async run(context) {
      const model = context.modelFor('speech')
      const answer = await context.openai.audio.speech.create({ model, voice: 'alloy', input: 'Hello, world.' })
      const type = answer.headers.get('content-type') ?? 'none'
      const { byteLength } = await answer.arrayBuffer()
      must(/^(audio\/|application\/octet-stream)/.test(type), `the content type is ${type}`)
      must(byteLength > 100, `the audio has ${byteLength} bytes`)
    },
  },
  {
    format: 'speech',
    feature: 'format',
    needs: 'speech',
    proves: 'The audio is a WAV file if requested.',
    calls: 1,
    async run(context) {
      const model = context.modelFor('speech')
      const answer = await context.openai.audio.speech.create({
        model,
        voice: 'alloy',
        input: 'Hello, world.',
        response_format: 'wav',
      })
      const head = new TextDecoder('latin1').decode((await answer.arrayBuffer()).slice(0, 4))
      must(head === 'RIFF', `the audio begins with ${formatValue(head)}, expected "RIFF"`)
    },
  },
]
