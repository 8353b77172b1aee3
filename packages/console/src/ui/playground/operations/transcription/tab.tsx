import { useMemo } from 'preact/hooks'
import { Button } from '../../../parts/button.tsx'
import { CopyButton } from '../../../parts/copy-button.tsx'
import { Field } from '../../../parts/field.tsx'
import { saveFile } from '../../../parts/save-file.ts'
import { Select } from '../../../parts/select.tsx'
import { sizeText } from '../../../parts/size-text.ts'
import { foldPieces } from '../../call/fold-response.ts'
import { StopIcon } from '../../icons.tsx'
import { Area } from '../../settings/area.tsx'
import { More } from '../../settings/more.tsx'
import type { FieldsProps, ResultProps } from '../operation.ts'
import { operationTab } from '../operation-tab.tsx'
import { FilesField } from '../parts/files-field.tsx'
import { useRecorder } from './recorder.ts'
import {
  canStream,
  clock,
  type TimedText,
  type TranscriptionDraft,
  transcriptionCalls,
  transcriptOf,
} from './request.ts'

type Props = FieldsProps<TranscriptionDraft>

function Inputs({ files, onFiles }: Props) {
  const { isAvailable, seconds, problem, start, stop } = useRecorder((file) => onFiles([file]))
  return (
    <>
      <FilesField
        id="audio"
        label="Audio"
        action="Choose a file"
        hint="Or drop it: MP3, WAV, M4A, WebM, FLAC, OGG."
        accept="audio/*,video/mp4,video/webm,.mp3,.wav,.m4a,.webm,.flac,.ogg,.mpga"
        multiple={false}
        files={files}
        onFiles={onFiles}
      />
      {isAvailable ? (
        <div class="recorder">
          {seconds === undefined ? (
            <Button small onClick={start}>
              Record
            </Button>
          ) : (
            <Button small onClick={stop}>
              <StopIcon />
              Stop recording
            </Button>
          )}
          <span class="hint" role="status">
            {seconds === undefined ? problem : 'Recording'}
          </span>
          {seconds === undefined ? null : <span class="hint">{clock(seconds).slice(0, -3)}</span>}
        </div>
      ) : null}
    </>
  )
}

const formats = ['', 'json', 'text', 'srt', 'vtt', 'verbose_json', 'diarized_json'].map((value) => ({
  value,
  title: value || 'Not set',
}))

const Settings = ({ draft, wrongs, onDraft }: Props) => (
  <>
    <div class="two">
      <Field
        id="language"
        label="Language"
        value={draft.language}
        placeholder="Detected"
        options={['en', 'de', 'es', 'fr', 'it', 'ja', 'pt', 'zh']}
        onInput={(language) => onDraft({ language })}
      />
      <Select
        id="transcript-format"
        label="Response format"
        value={draft.format}
        options={formats}
        onChange={(format) => onDraft({ format })}
      />
    </div>
    <label class="tick">
      <input
        type="checkbox"
        checked={draft.stream && canStream(draft)}
        disabled={!canStream(draft)}
        onChange={(event) => onDraft({ stream: event.currentTarget.checked })}
      />
      Stream the text
    </label>
    {draft.format === 'verbose_json' ? (
      <label class="tick">
        <input
          type="checkbox"
          checked={draft.words}
          onChange={(event) => onDraft({ words: event.currentTarget.checked })}
        />
        Times of words
      </label>
    ) : null}
    <More mustBeSeen={draft.prompt !== '' || draft.temperature !== ''}>
      <Area
        id="transcript-prompt"
        label="Prompt"
        prose
        hint="Names and terms that occur in the audio."
        value={draft.prompt}
        onInput={(prompt) => onDraft({ prompt })}
      />
      <Field
        id="temperature"
        label="Temperature"
        value={draft.temperature}
        placeholder="Not set"
        {...(wrongs.temperature === undefined ? {} : { wrong: wrongs.temperature })}
        onInput={(temperature) => onDraft({ temperature })}
      />
    </More>
  </>
)

const subtitles = ['srt', 'vtt']

function Result({ run: { exchange } }: ResultProps) {
  const { answer } = useMemo(() => foldPieces(exchange.pieces), [exchange.pieces])
  const { text, language, duration, segments, words } = useMemo(
    () => transcriptOf(exchange, answer.text),
    [exchange.events, answer.text],
  )
  const format = String(exchange.request.body.response_format ?? 'json')
  const isSubtitle = subtitles.includes(format)
  const [file] = exchange.request.files ?? []
  const facts = [
    ...(language === '' ? [] : [language]),
    ...(duration === undefined ? [] : [`${duration.toFixed(1)} s`]),
  ]
  return (
    <>
      {file === undefined ? null : (
        <p class="asked">
          {file.file.name} <small>{sizeText(file.file.size)}</small>
        </p>
      )}
      {text === '' ? null : isSubtitle ? (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: long lines scroll and must be reachable by keyboard
        <pre class="subtitles" tabIndex={0}>
          {text}
        </pre>
      ) : (
        <p class="transcript">{text}</p>
      )}
      {facts.length === 0 ? null : <p class="hint">{facts.join(' · ')}</p>}
      <Times name="Segments" parts={segments} />
      <Times name="Words" parts={words} />
      {text === '' && exchange.outcome === 'finished' ? <p class="aside">The model returned no text.</p> : null}
      {text === '' || exchange.outcome === 'running' ? null : (
        <div class="result-actions">
          <CopyButton small look="quiet" text={text} what="the transcript" />
          <Button
            small
            look="quiet"
            label="Download the transcript"
            onClick={() =>
              saveFile(`transcript.${isSubtitle ? format : 'txt'}`, new Blob([text], { type: 'text/plain' }))
            }
          >
            Download
          </Button>
        </div>
      )}
    </>
  )
}

function Times({ name, parts }: { name: string; parts: readonly TimedText[] }) {
  if (parts.length === 0) return null
  const hasSpeakers = parts.some(({ speaker }) => speaker !== '')
  return (
    <details class="times" open={name === 'Segments'}>
      <summary>
        {name} ({parts.length})
      </summary>
      <table class="scores">
        <thead class="out-of-sight">
          <tr>
            <th scope="col">Time</th>
            {hasSpeakers ? <th scope="col">Speaker</th> : null}
            <th scope="col">Text</th>
          </tr>
        </thead>
        <tbody>
          {parts.map(({ text, start, end, speaker }, at) => (
            <tr key={at}>
              <td class="number">
                {start === undefined ? '' : clock(start)}
                {end === undefined ? '' : ` – ${clock(end)}`}
              </td>
              {hasSpeakers ? <td>{speaker}</td> : null}
              <td class="ranked">{text}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  )
}

export const TranscriptionTab = operationTab<TranscriptionDraft>({
  ...transcriptionCalls,
  id: 'transcription',
  title: 'Transcription',
  about: 'A model writes down what is spoken in a file, or in a recording. The tab Speech makes a file to try it with.',
  needs: ['transcriptions'],
  what: 'transcription',
  action: 'Transcribe',
  Inputs,
  Settings,
  Result,
})
