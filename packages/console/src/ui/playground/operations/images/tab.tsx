import { useMemo } from 'preact/hooks'
import { Button } from '../../../parts/button.tsx'
import { Field } from '../../../parts/field.tsx'
import { saveFile } from '../../../parts/save-file.ts'
import { Select } from '../../../parts/select.tsx'
import { textOf } from '../../formats/read.ts'
import { Area } from '../../settings/area.tsx'
import { More } from '../../settings/more.tsx'
import type { FieldsProps, ResultProps } from '../operation.ts'
import { operationTab } from '../operation-tab.tsx'
import { FilesField } from '../parts/files-field.tsx'
import { fileName, fileOf } from '../parts/media-files.ts'
import { useObjectUrl } from '../parts/object-url.ts'
import { type ImagesDraft, imagesCalls, imagesOf, type ShownImage } from './request.ts'

type Props = FieldsProps<ImagesDraft>

const Inputs = ({ draft, onDraft, files, onFiles }: Props) => (
  <>
    <Area
      id="prompt"
      label="Prompt"
      prose
      placeholder={files.length === 0 ? 'What the image shows' : 'What to change'}
      value={draft.prompt}
      onInput={(prompt) => onDraft({ prompt })}
    />
    <FilesField
      id="images"
      label="Images to edit"
      action="Add images"
      hint="Optional. Drop or paste PNG, JPEG or WebP."
      accept="image/png,image/jpeg,image/webp"
      multiple
      files={files}
      onFiles={onFiles}
    />
  </>
)

const optionsOf = (...values: readonly string[]) => [
  { value: '', title: 'Not set' },
  ...values.map((value) => ({ value, title: value })),
]

const sizes = ['auto', '1024x1024', '1536x1024', '1024x1536', '512x512', '256x256', '1792x1024', '1024x1792']
const qualities = optionsOf('auto', 'low', 'medium', 'high', 'standard', 'hd')
const backgrounds = optionsOf('auto', 'transparent', 'opaque')
const outputFormats = optionsOf('png', 'jpeg', 'webp')
const responseFormats = optionsOf('b64_json', 'url')

const Settings = ({ draft, wrongs, onDraft }: Props) => (
  <>
    <div class="two">
      <Field
        id="size"
        label="Size"
        value={draft.size}
        placeholder="Not set"
        options={sizes}
        onInput={(size) => onDraft({ size })}
      />
      <Field
        id="count"
        label="Number"
        value={draft.count}
        placeholder="1"
        {...(wrongs.count === undefined ? {} : { wrong: wrongs.count })}
        onInput={(count) => onDraft({ count })}
      />
    </div>
    <div class="two">
      <Select
        id="quality"
        label="Quality"
        value={draft.quality}
        options={qualities}
        onChange={(quality) => onDraft({ quality })}
      />
      <Select
        id="background"
        label="Background"
        value={draft.background}
        options={backgrounds}
        onChange={(background) => onDraft({ background })}
      />
    </div>
    <label class="tick">
      <input
        type="checkbox"
        checked={draft.stream}
        onChange={(event) => onDraft({ stream: event.currentTarget.checked })}
      />
      Stream partial images
    </label>
    <More mustBeSeen={draft.outputFormat !== '' || draft.responseFormat !== ''}>
      <Select
        id="output-format"
        label="Output format"
        value={draft.outputFormat}
        options={outputFormats}
        onChange={(outputFormat) => onDraft({ outputFormat })}
      />
      <Select
        id="response-format"
        label="Response format"
        value={draft.responseFormat}
        options={responseFormats}
        onChange={(responseFormat) => onDraft({ responseFormat })}
      />
      <p class="hint">Only older models have a response format. The Playground can’t show images of other hosts.</p>
    </More>
  </>
)

function Result({ run: { exchange }, onOpen }: ResultProps) {
  const images = useMemo(() => imagesOf(exchange), [exchange.events])
  const { body, files = [] } = exchange.request
  return (
    <>
      <p class="asked">
        {textOf(body.prompt)}{' '}
        {files.length === 0 ? null : <small>edits {files.map(({ file }) => file.name).join(', ')}</small>}
      </p>
      {images.length === 0 ? null : (
        <div class="made-images">
          {images.map((image, at) => (
            <MadeImage key={at} image={image} at={at} prompt={textOf(body.prompt)} onOpen={onOpen} />
          ))}
        </div>
      )}
    </>
  )
}

function MadeImage({
  image,
  at,
  prompt,
  onOpen,
}: Pick<ResultProps, 'onOpen'> & { image: ShownImage; at: number; prompt: string }) {
  const { data, type, url, revisedPrompt, isPartial } = image
  const file = useMemo(
    () => (data === '' ? undefined : fileOf(data, fileName(`image-${at + 1}`, type), type)),
    [data, type, at],
  )
  const address = useObjectUrl(file)
  if (file === undefined)
    return (
      <p class="hint">
        The response has an address in place of the image:{' '}
        <a href={safeAddress(url)} target="_blank" rel="noopener noreferrer">
          open image {at + 1}
        </a>
      </p>
    )
  return (
    <figure>
      {address === undefined ? null : <img src={address} alt={`${prompt.slice(0, 200)} (${at + 1})`} />}
      <figcaption>
        {revisedPrompt === '' ? null : <p>Revised prompt: {revisedPrompt}</p>}
        {isPartial ? (
          <p>In progress …</p>
        ) : (
          <>
            <Button small look="quiet" label={`Download image ${at + 1}`} onClick={() => saveFile(file.name, file)}>
              Download
            </Button>
            <Button small look="quiet" label={`Edit image ${at + 1}`} onClick={() => onOpen('images', [file])}>
              Edit
            </Button>
          </>
        )}
      </figcaption>
    </figure>
  )
}

/** An address of a response is any text. */
const safeAddress = (url: string): string => (/^https?:\/\//.test(url) ? url : '#')

export const ImagesTab = operationTab<ImagesDraft>({
  ...imagesCalls,
  id: 'images',
  title: 'Images',
  about: 'Describe an image, and a model makes it. Add images to change or combine them.',
  needs: ['images', 'image-edits'],
  what: 'images',
  action: 'Generate',
  example: { prompt: 'A lighthouse on a cliff at dusk, as a woodcut in two colours', size: '1024x1024' },
  Inputs,
  Settings,
  Result,
})
