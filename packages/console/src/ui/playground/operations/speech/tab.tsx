import { useMemo } from 'preact/hooks'
import { Button } from '../../../parts/button.tsx'
import { Field } from '../../../parts/field.tsx'
import { saveFile } from '../../../parts/save-file.ts'
import { Select } from '../../../parts/select.tsx'
import { sizeText } from '../../../parts/size-text.ts'
import { textOf } from '../../formats/read.ts'
import { Area } from '../../settings/area.tsx'
import type { FieldsProps, ResultProps } from '../operation.ts'
import { operationTab } from '../operation-tab.tsx'
import { fileName } from '../parts/media-files.ts'
import { useObjectUrl } from '../parts/object-url.ts'
import { type SpeechDraft, speechCalls } from './request.ts'

type Props = FieldsProps<SpeechDraft>

const Inputs = ({ draft, onDraft }: Props) => (
  <Area
    id="speech-text"
    label="Text"
    prose
    rows={3}
    placeholder="What to speak"
    value={draft.text}
    onInput={(text) => onDraft({ text })}
  />
)

/** Voices of OpenAI; other providers have others. */
const voices = 'alloy ash ballad coral echo fable nova onyx sage shimmer verse marin cedar'.split(' ')

const formats = ['', 'mp3', 'opus', 'aac', 'flac', 'wav', 'pcm'].map((value) => ({ value, title: value || 'Not set' }))

const Settings = ({ draft, wrongs, onDraft }: Props) => (
  <>
    <Field
      id="voice"
      label="Voice"
      value={draft.voice}
      options={voices}
      hint="Providers have different voices: any name can be typed."
      onInput={(voice) => onDraft({ voice })}
    />
    <div class="two">
      <Select
        id="audio-format"
        label="Format"
        value={draft.format}
        options={formats}
        onChange={(format) => onDraft({ format })}
      />
      <Field
        id="speed"
        label="Speed"
        value={draft.speed}
        placeholder="1"
        {...(wrongs.speed === undefined ? {} : { wrong: wrongs.speed })}
        onInput={(speed) => onDraft({ speed })}
      />
    </div>
    <Area
      id="instructions"
      label="Instructions"
      prose
      hint="How to speak. Not every model follows them."
      value={draft.instructions}
      onInput={(instructions) => onDraft({ instructions })}
    />
  </>
)

function Result({ run: { exchange, id }, onOpen }: ResultProps) {
  const { media, request } = exchange
  const file = useMemo(
    () =>
      media === undefined || media.size === 0
        ? undefined
        : new File([media], fileName('speech', media.type), { type: media.type.split(';', 1)[0] ?? '' }),
    [media],
  )
  return (
    <>
      <p class="asked">
        {textOf(request.body.input)} <small>{voiceOf(request.body.voice)}</small>
      </p>
      {file === undefined ? null : <Spoken file={file} id={id} onOpen={onOpen} />}
      {media?.size === 0 ? <p class="aside">The model returned no audio.</p> : null}
    </>
  )
}

/** The voice of a request; some are objects with an id. */
const voiceOf = (voice: unknown): string => (typeof voice === 'string' ? voice : JSON.stringify(voice ?? ''))

function Spoken({ file, onOpen }: Pick<ResultProps, 'onOpen'> & { file: File; id: string }) {
  const url = useObjectUrl(file)
  const isRaw = /pcm|l16/i.test(file.type)
  return (
    <div class="spoken">
      {isRaw ? (
        <p class="hint">Browsers don’t play raw samples (PCM). Download the file, or select another format.</p>
      ) : (
        // biome-ignore lint/a11y/useMediaCaption: the text is shown above
        <audio controls src={url} aria-label="Generated speech" />
      )}
      <span class="hint">
        {file.type || 'unknown type'}, {sizeText(file.size)}
      </span>
      <Button small look="quiet" label="Download the audio" onClick={() => saveFile(file.name, file)}>
        Download
      </Button>
      <Button small look="quiet" onClick={() => onOpen('transcription', [file])}>
        Transcribe it
      </Button>
    </div>
  )
}

export const SpeechTab = operationTab<SpeechDraft>({
  ...speechCalls,
  id: 'speech',
  title: 'Speech',
  about: 'A model speaks a text. The result can be played, downloaded, and transcribed again.',
  needs: ['speech'],
  what: 'speech',
  action: 'Speak',
  example: { text: 'The ferry leaves at eight. Please have your tickets ready.', voice: 'alloy' },
  Inputs,
  Settings,
  Result,
})
