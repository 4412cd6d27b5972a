// Builds a template with the JavaScript SDK, makes a sandbox of it, and looks inside.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { BuildError, Sandbox, Template, waitForPort } from 'e2b'

const name = process.argv[2]
const context = mkdtempSync(join(tmpdir(), 'context-'))
writeFileSync(join(context, 'page.html'), 'from the context\n')
try {
  const template = Template({ fileContextPath: context })
    .fromBaseImage()
    .setEnvs({ GREETING: 'hello' })
    .copy('page.html', '/srv/pages/')
    .setWorkdir('/srv/pages')
    .runCmd('echo $GREETING > greeting', { user: 'root' })
    .setStartCmd('python3 -m http.server 8000', waitForPort(8000))
  const said = []
  await Template.build(template, name, { onBuildLogs: (entry) => said.push(entry.message) })
  assert.ok(said.length > 3)
  assert.equal(await Template.exists(name), true)
  const sandbox = await Sandbox.create(name)
  try {
    const result = await sandbox.commands.run('curl -s localhost:8000/page.html localhost:8000/greeting')
    assert.equal(result.stdout, 'from the context\nhello\n')
  } finally {
    await sandbox.kill()
  }
  await assert.rejects(
    Template.build(Template().fromBaseImage().runCmd('echo no good; exit 4'), name),
    (error) => error instanceof BuildError && error.message.includes('no good')
  )
} finally {
  rmSync(context, { recursive: true })
}
console.log('done')
