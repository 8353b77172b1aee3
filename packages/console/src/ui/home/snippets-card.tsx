import { useState } from 'preact/hooks'
import { Code } from '../parts/code.tsx'
import { CopyButton } from '../parts/copy-button.tsx'
import { TabPanel, Tabs } from '../parts/tabs.tsx'
import { snippetsFor } from './snippets.ts'

export function Snippets({ gateway }: { gateway: string }) {
  const [chosen, setChosen] = useState('curl')
  const snippets = snippetsFor(gateway)
  const shown = snippets.find(({ id }) => id === chosen)
  if (shown === undefined) return null
  return (
    <section class="section" aria-labelledby="connect">
      <header>
        <h2 id="connect">Connect a client</h2>
        <p>Replace “your token” with your token, and MODEL with a model that the first curl command lists.</p>
      </header>
      <div class="card snippets">
        <div class="snippet-bar">
          <Tabs name="snippet" label="Clients" tabs={snippets} chosen={chosen} onChoose={setChosen} />
          <CopyButton key={chosen} small look="quiet" text={shown.code} what={`the ${shown.title} snippet`} />
        </div>
        <TabPanel name="snippet" chosen={chosen}>
          <p class="about">{shown.about}</p>
          <Code text={shown.code} />
        </TabPanel>
      </div>
    </section>
  )
}
