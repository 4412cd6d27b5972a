// Generated from the server's OpenAPI document by `npm run types`. Do not edit.

export interface paths {
    "/v1/builds": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List builds
         * @description Newest first. Of each template the last twenty are kept.
         */
        get: operations["listBuilds"];
        put?: never;
        /**
         * Build a template
         * @description It waits for its turn, and runs on when the caller goes away. Files of its COPY steps have to be uploaded before.
         */
        post: operations["createBuild"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/builds/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a build */
        get: operations["getBuild"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/builds/{id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancel a build
         * @description What it has done so far is kept: the same build goes on from there.
         */
        post: operations["cancelBuild"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/builds/{id}/logs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What a build says */
        get: operations["readBuildLog"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/driver": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What a link opens, and who drives */
        get: operations["getDriver"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/driver/give": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Hand back
         * @description The agent drives again. One who does not drive changes nothing.
         */
        post: operations["handBack"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/driver/live": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The same, as it changes */
        get: operations["followDriver"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/driver/take": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Take over
         * @description From now on the agent's input is refused. The seat is given up ten seconds after the last screen opened by this link is
         *     closed.
         */
        post: operations["takeOver"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * What happened
         * @description Oldest first, unless `newest_first`.
         */
        get: operations["listEvents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/events/stream": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * What happens, as it happens
         * @description Server-sent events. A comment comes every 15 seconds when nothing happens.
         */
        get: operations["followEvents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/fleet": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** All living sandboxes at once */
        get: operations["getFleet"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/health": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Whether it serves
         * @description Needs no key.
         */
        get: operations["getHealth"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List API keys */
        get: operations["listKeys"];
        put?: never;
        /**
         * Make an API key
         * @description The secret is in this answer and nowhere else. A browser's session is not enough: the request must carry a key itself.
         *     Nobody gives more than they have: a key of an operator makes all kinds, one with the scope `full` all but those.
         */
        post: operations["createKey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/keys/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Revoke an API key
         * @description From now on it opens nothing. The last key of an operator stays.
         */
        delete: operations["revokeKey"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/live": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * All that changes, as it changes
         * @description One stream for a page. A fleet in which nothing happens costs a comment every 15 seconds.
         */
        get: operations["followLive"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/node": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What the machine holds */
        get: operations["getNode"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/node/sleep-all": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Let every sandbox sleep
         * @description Of every team, for taking the machine down: an operator's alone. The answer comes when the last one sleeps.
         */
        post: operations["sleepAll"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/questions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List questions, newest first */
        get: operations["listQuestions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/questions/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a question, or wait for its end
         * @description With `wait_s` the answer comes when the question is no longer open, or when that time is over.
         */
        get: operations["getQuestion"];
        put?: never;
        post?: never;
        /**
         * Withdraw it
         * @description Nobody need answer any more. One that is closed stays as it is.
         */
        delete: operations["withdrawQuestion"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/questions/{id}/answer": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Answer it
         * @description A sandbox that sleeps is woken for it.
         */
        post: operations["answerQuestion"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sandboxes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List sandboxes, newest first */
        get: operations["listSandboxes"];
        put?: never;
        /**
         * Make a sandbox
         * @description It runs when the answer comes. Made from a template's snapshot, or from one of your own.
         */
        post: operations["createSandbox"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sandboxes/{ref}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a sandbox */
        get: operations["getSandbox"];
        put?: never;
        post?: never;
        /**
         * End a sandbox
         * @description Its processes are gone afterwards. Its disk (and its memory, if it slept) is kept for a while, so that it can be undeleted;
         *     with `keep=false` nothing is left, also of one that is dead already. Snapshots that were taken of it stay.
         */
        delete: operations["killSandbox"];
        options?: never;
        head?: never;
        /**
         * Change a sandbox
         * @description Only what is mentioned changes. A new `timeout_s` counts from now.
         */
        patch: operations["updateSandbox"];
        trace?: never;
    };
    "/v1/sandboxes/{ref}/activity": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Why it is awake
         * @description And when it will sleep, if nothing new happens.
         */
        get: operations["getActivity"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sandboxes/{ref}/extend": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Move its deadline */
        post: operations["extendSandbox"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sandboxes/{ref}/fork": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Multiply it
         * @description Children that go on from the same moment, each with an identity of its own. Some may fail while others run:
         *     `errors` says which and why, and `sandboxes` holds those that run.
         */
        post: operations["forkSandbox"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sandboxes/{ref}/hold": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Keep it awake
         * @description It does not fall asleep from idleness for so long.
         */
        post: operations["holdSandbox"];
        /** Let it sleep again */
        delete: operations["releaseSandbox"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sandboxes/{ref}/links": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the links to its screen and ports
         * @description Those that open something, newest first; without their tokens.
         */
        get: operations["listLinks"];
        put?: never;
        /**
         * Make a link to its screen or to a port
         * @description Until it expires or is revoked, whoever has it may watch or, by a `control` link, take over; or open the port, also of a
         *     sandbox whose ports are not public. For a `control` link a browser's session is not enough: the request must carry a key.
         */
        post: operations["makeLink"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sandboxes/{ref}/links/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Revoke a link
         * @description What it opened is cut, and who drove by it drives no longer.
         */
        delete: operations["revokeLink"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sandboxes/{ref}/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * What it used
         * @description Samples of the last 24 hours, oldest first.
         */
        get: operations["getMetrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sandboxes/{ref}/pause": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Let it sleep
         * @description It sleeps with its memory, until resumed or woken by traffic. One that sleeps already stays as it is.
         */
        post: operations["pauseSandbox"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sandboxes/{ref}/questions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Ask a person
         * @description The sandbox may sleep while it waits: the answer wakes it.
         */
        post: operations["askQuestion"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sandboxes/{ref}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Wake it
         * @description It goes on where it left off. If its memory cannot be used, `snapshot_damaged` or `snapshot_foreign` says so, and
         *     `cold: true` agrees to boot from its disk; `lost` then names what ran.
         */
        post: operations["resumeSandbox"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sandboxes/{ref}/rollback": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Take it back
         * @description To one of its own snapshots, from which it runs on; one without memory boots. Where it was is kept in a snapshot named
         *     `before-rollback-…`: nothing is lost.
         */
        post: operations["rollBackSandbox"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sandboxes/{ref}/snapshots": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Keep this moment of it
         * @description A running sandbox goes on; of a sleeping one it is the snapshot it sleeps in.
         */
        post: operations["takeSnapshot"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sandboxes/{ref}/token": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Get the tokens that open it
         * @description `access_token` opens the agent inside, in the header `X-Access-Token`; `traffic_token` its ports while they are not public,
         *     in `E2B-Traffic-Access-Token`. They stay the same until they are rotated; a key that is revoked takes those it was given
         *     along.
         */
        post: operations["getTokens"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sandboxes/{ref}/token/rotate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Change the tokens that open it
         * @description The new ones are in the answer. The old ones, and URLs that were signed with them, open nothing from now on, and what they
         *     opened is cut. A sandbox that sleeps stays asleep.
         */
        post: operations["rotateTokens"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sandboxes/{ref}/undelete": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Bring a dead one back
         * @description As a new sandbox, made of what was kept: the same disk (and memory, if it was killed in its sleep), metadata, policy,
         *     environment and network, and the same name if that is free. By name it is the one that died last.
         */
        post: operations["undeleteSandbox"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/session": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Who is signed in */
        get: operations["getSession"];
        put?: never;
        /**
         * Sign a browser in
         * @description The answer sets a cookie, for 7 days. It is accepted wherever a key is, but for making keys and links that drive. What
         *     changes something needs the header `Roost-Request: 1` with it. A key that is revoked ends its sessions.
         */
        post: operations["signIn"];
        /**
         * Sign a browser out
         * @description Clears the cookie. Needs no key: a browser may always forget.
         */
        delete: operations["signOut"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/snapshots": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List snapshots, newest first */
        get: operations["listSnapshots"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/snapshots/{ref}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a snapshot */
        get: operations["getSnapshot"];
        put?: never;
        post?: never;
        /**
         * Delete a snapshot
         * @description Sandboxes that were made from it do not need it. One that sleeps in it does: then it is refused.
         */
        delete: operations["deleteSnapshot"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/snapshots/{ref}/file": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a file of a snapshot
         * @description As it was then; 5 MB at most. Always as a download: what a sandbox wrote never becomes a page of ours.
         */
        get: operations["readSnapshotFile"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/snapshots/{ref}/files": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Look into a snapshot
         * @description What a directory held then.
         */
        get: operations["listSnapshotFiles"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/templates": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List templates */
        get: operations["listTemplates"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/templates/{ref}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a template */
        get: operations["getTemplate"];
        put?: never;
        post?: never;
        /**
         * Delete a template
         * @description One tag, or by name alone all of them. Sandboxes that were made from it live on.
         */
        delete: operations["deleteTemplate"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/templates/{ref}/tags": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Give a template another tag
         * @description A tag that there is names this one from now on: so one goes back to an older build.
         */
        post: operations["tagTemplate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/templates/prune": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Delete layers that no build needs now
         * @description What templates and sandboxes need is not touched; the next build runs its steps again.
         */
        post: operations["pruneLayers"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/uploads/{digest}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Whether files are there
         * @description Who asks this before a build need not send what is there.
         */
        get: operations["getUpload"];
        /**
         * Upload files for a build
         * @description A tar, or one with gzip: files, directories and links. Kept for an hour after a build last needed it.
         */
        put: operations["putUpload"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/version": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What serves */
        get: operations["getVersion"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /**
         * ActivityModel
         * @description Why a sandbox is awake, and when it will sleep if nothing new happens.
         */
        ActivityModel: {
            /** Awake */
            awake: boolean;
            /** Awake Because */
            awake_because: components["schemas"]["ReasonModel"][];
            /**
             * Dozing
             * @description Asleep, but still in memory: it wakes in milliseconds. A few seconds old.
             */
            dozing: boolean;
            /** Sleeps At */
            sleeps_at: string | null;
            /** @description What happens at `sleeps_at`. */
            then: components["schemas"]["OnTimeout"] | null;
        };
        /**
         * AnswerBody
         * @description A choice, a text, or both.
         */
        AnswerBody: {
            /** Choice */
            choice?: string | null;
            /** Text */
            text?: string | null;
        };
        /** AnswerModel */
        AnswerModel: {
            /**
             * At
             * @description RFC 3339, UTC.
             * @example 2026-01-31T12:00:00.250Z
             */
            at: string;
            /**
             * By
             * @description The name of the key that answered.
             */
            by: string;
            /** Choice */
            choice: string | null;
            /** Text */
            text: string | null;
        };
        /**
         * AskBody
         * @description What to ask. An approval without choices offers `approve` and `deny`.
         */
        AskBody: {
            /**
             * Choices
             * @description What may be answered, 20 at most; none: free text.
             */
            choices?: string[];
            /** @default question */
            kind: components["schemas"]["QuestionKind"];
            /**
             * Screenshot
             * @description Base64 of a png, jpeg or webp of 1 MB at most.
             */
            screenshot?: string | null;
            /** Text */
            text: string;
            /**
             * Ttl S
             * @description How long it may be answered; 30 days at most.
             * @default 86400
             */
            ttl_s: number;
        };
        /** BuildBody */
        BuildBody: {
            /**
             * Cache
             * @description False: every step runs.
             * @default true
             */
            cache: boolean;
            /**
             * Definition
             * @description Stages, each a base and steps, every part with its `kind`: see docs/templates.md.
             */
            definition: {
                [key: string]: unknown;
            };
            /**
             * Description
             * @default
             */
            description: string;
            /**
             * Name
             * @description Of the template: 1-63 of a-z, 0-9 and inner hyphens.
             */
            name: string;
            /**
             * Secrets
             * @description Values for the secrets that steps name. Kept in memory only.
             */
            secrets?: {
                [key: string]: string;
            };
            /** @description Of the sandboxes that it is built in, and of those made from it. */
            size?: components["schemas"]["SizeBody"] | null;
            /**
             * Tag
             * @description Under which the template is kept; a tag that there is names the new one then.
             * @default latest
             */
            tag: string;
        };
        /** BuildFailureModel */
        BuildFailureModel: {
            /** Code */
            code: string;
            /** Line */
            line: number | null;
            /** Message */
            message: string;
            /**
             * Step
             * @description By its place in `steps`.
             */
            step: number | null;
            /** Text */
            text: string;
        };
        /** BuildList */
        BuildList: {
            /** Builds */
            builds: components["schemas"]["TemplateBuildModel"][];
        };
        /**
         * BuildModel
         * @description A template that is not there yet.
         */
        BuildModel: {
            /**
             * Again At
             * @description When it is tried again, after a failure.
             */
            again_at: string | null;
            /**
             * Began At
             * @description RFC 3339, UTC.
             * @example 2026-01-31T12:00:00.250Z
             */
            began_at: string;
            /**
             * Failure
             * @description Why it could not be made so far.
             */
            failure: string | null;
            /** Name */
            name: string;
            /**
             * Step
             * @description What is being done.
             */
            step: string;
        };
        /**
         * BuildState
         * @enum {string}
         */
        BuildState: "announced" | "queued" | "building" | "ready" | "failed" | "cancelled";
        /** BuildStepModel */
        BuildStepModel: {
            /** Ended At */
            ended_at: string | null;
            /** Line */
            line: number;
            /** Stage */
            stage: number;
            /** Started At */
            started_at: string | null;
            state: components["schemas"]["StepState"];
            /** Text */
            text: string;
        };
        /** CheckModel */
        CheckModel: {
            /**
             * Detail
             * @description How it stands and, if it is not well, what to do.
             */
            detail: string;
            /** Name */
            name: string;
            /** Ok */
            ok: boolean;
        };
        /** CountsModel */
        CountsModel: {
            /**
             * Dozing
             * @description Sleepers that are still in memory, to wake in milliseconds.
             */
            dozing: number;
            /**
             * Running
             * @description Sandboxes with a process behind them.
             */
            running: number;
        };
        /** CreateBody */
        CreateBody: {
            /**
             * Env
             * @description Variables of every process in it.
             * @default {}
             */
            env: {
                [key: string]: string;
            };
            /**
             * Idle Cpu Share
             * @description Below this share of one core the guest counts as idle.
             * @default 0.05
             */
            idle_cpu_share: number;
            /**
             * Idle S
             * @description Sleep after so long without traffic, holds or work of its own.
             */
            idle_s?: number | null;
            /**
             * Keep Memory
             * @description Whether sleeping by itself keeps its memory.
             * @default true
             */
            keep_memory: boolean;
            /**
             * Metadata
             * @default {}
             */
            metadata: {
                [key: string]: string;
            };
            /**
             * Name
             * @description Unique among the living; also its host name.
             */
            name?: string | null;
            network?: components["schemas"]["NetworkBody"] | null;
            /** @default pause */
            on_timeout: components["schemas"]["OnTimeout"];
            size?: components["schemas"]["SizeBody"] | null;
            /**
             * Template
             * @description A template, or a snapshot by id or name.
             * @default base
             */
            template: string;
            /**
             * Timeout S
             * @description At this age, do `on_timeout`.
             */
            timeout_s?: number | null;
            /**
             * Wake On Traffic
             * @description Whether a request to it wakes it.
             * @default true
             */
            wake_on_traffic: boolean;
        };
        /**
         * DriverModel
         * @description The person at the keyboard.
         */
        DriverModel: {
            /**
             * Link
             * @description By which they came.
             */
            link: string;
            /**
             * Since
             * @description RFC 3339, UTC.
             * @example 2026-01-31T12:00:00.250Z
             */
            since: string;
            /** Who */
            who: string;
        };
        /**
         * EnteredModel
         * @description A sandbox with its tokens: for whoever made it, or asked for them. No other answer has them.
         */
        EnteredModel: {
            /**
             * Access Token
             * @description Opens the agent inside it.
             */
            access_token: string;
            /**
             * Changed At
             * @description Of its state: asleep, awake or dead since then.
             * @example 2026-01-31T12:00:00.250Z
             */
            changed_at: string;
            /**
             * Created At
             * @description RFC 3339, UTC.
             * @example 2026-01-31T12:00:00.250Z
             */
            created_at: string;
            /** Domain */
            domain: string;
            /** @description The person who drives; null: the agent does. */
            driver: components["schemas"]["DriverModel"] | null;
            /** Expires At */
            expires_at: string | null;
            /**
             * Has Desktop
             * @description It has a screen.
             */
            has_desktop: boolean;
            hold: components["schemas"]["HoldModel"] | null;
            /**
             * Id
             * @example i0h3mn29fk4ttq0xv2c71
             */
            id: string;
            /**
             * Incarnation
             * @description Counts the processes that stood behind it.
             */
            incarnation: number;
            /** Metadata */
            metadata: {
                [key: string]: string;
            };
            /** Name */
            name: string | null;
            /** @description What it may reach, and who may reach it. */
            network: components["schemas"]["NetworkModel"];
            /** @description The move under way. */
            operation: components["schemas"]["OperationModel"] | null;
            /**
             * Parent
             * @description The sandbox it was forked from.
             */
            parent: string | null;
            policy: components["schemas"]["PolicyFields"];
            /**
             * Reason
             * @description Why it died, or was rewound.
             */
            reason: string | null;
            /**
             * Revision
             * @description Counts its changes: of two answers, the one with the smaller is the older.
             */
            revision: number;
            size: components["schemas"]["SizeModel"];
            /**
             * Snapshot
             * @description The newest: where resume and rewind lead.
             */
            snapshot: string | null;
            /**
             * Started At
             * @description Of this incarnation.
             */
            started_at: string | null;
            state: components["schemas"]["State"];
            /** Template */
            template: string;
            /**
             * Traffic Token
             * @description Opens its ports when they are not public.
             */
            traffic_token: string | null;
            /**
             * Undelete Until
             * @description Until then a dead one can be undeleted.
             */
            undelete_until: string | null;
            /**
             * Url
             * @example http://{port}-i0h3mn29fk4ttq0xv2c71.roost.localhost:4700
             */
            url: string;
        };
        /** ErrorAnswer */
        ErrorAnswer: {
            error: components["schemas"]["ErrorDetail"];
        };
        /**
         * ErrorDetail
         * @description What went wrong. Further fields are the facts that the message names.
         */
        ErrorDetail: {
            /**
             * Code
             * @description A stable word for programs.
             * @example sandbox_not_found
             */
            code: string;
            /**
             * Message
             * @description Prose for people: what happened, to which thing, what to do.
             */
            message: string;
        } & {
            [key: string]: unknown;
        };
        /**
         * EventKind
         * @enum {string}
         */
        EventKind: "sandbox.created" | "sandbox.paused" | "sandbox.woke" | "sandbox.snapshotted" | "sandbox.forked" | "sandbox.updated" | "sandbox.rewound" | "sandbox.died" | "sandbox.rolled_back" | "sandbox.undeleted" | "sandbox.tokens_rotated" | "sandbox.failed" | "driver.took" | "driver.gave" | "question.asked" | "question.answered" | "question.expired" | "question.withdrawn" | "snapshot.deleted" | "template.built" | "template.failed";
        /** EventList */
        EventList: {
            /** Events */
            events: components["schemas"]["EventModel"][];
        };
        /** EventModel */
        EventModel: {
            /**
             * At
             * @description RFC 3339, UTC.
             * @example 2026-01-31T12:00:00.250Z
             */
            at: string;
            /** Facts */
            facts: {
                [key: string]: unknown;
            };
            kind: components["schemas"]["EventKind"];
            /** Sandbox */
            sandbox: string | null;
            /**
             * Sequence
             * @description Strictly increasing.
             */
            sequence: number;
        };
        /** ExtendBody */
        ExtendBody: {
            /**
             * Timeout S
             * @description From now on; may be shorter than what is left.
             */
            timeout_s: number;
        };
        /**
         * FileList
         * @description Directories first, then by name.
         */
        FileList: {
            /** Entries */
            entries: components["schemas"]["FileModel"][];
            /**
             * Truncated
             * @description There are more than can be shown.
             */
            truncated: boolean;
        };
        /** FileModel */
        FileModel: {
            /**
             * Mtime
             * @description RFC 3339, UTC.
             * @example 2026-01-31T12:00:00.250Z
             */
            mtime: string;
            /** Name */
            name: string;
            /** Size */
            size: number;
            type: components["schemas"]["FileType"];
        };
        /**
         * FileType
         * @enum {string}
         */
        FileType: "file" | "directory" | "symlink" | "other";
        /** FleetAnswer */
        FleetAnswer: {
            /**
             * Cursor
             * @description Follow `/v1/live?after=` from here: nothing is missed.
             */
            cursor: number;
            /**
             * Open Questions
             * @description How many wait for a person.
             */
            open_questions: number;
            /** Sandboxes */
            sandboxes: components["schemas"]["FleetMember"][];
        };
        /**
         * FleetMember
         * @description A living sandbox, why it is awake, and its last readings, oldest first (every 5 seconds while it runs).
         */
        FleetMember: {
            activity: components["schemas"]["ActivityModel"];
            /**
             * At
             * @description Of the last reading; without one, of this answer.
             * @example 2026-01-31T12:00:00.250Z
             */
            at: string;
            /**
             * Cpu
             * @description Shares of one core, 30 at most.
             */
            cpu: number[];
            /**
             * Memory
             * @description Bytes, at the same moments.
             */
            memory: number[];
            sandbox: components["schemas"]["SandboxModel"];
        };
        /**
         * ForkAnswer
         * @description Both may be filled: some children run, others could not be made.
         */
        ForkAnswer: {
            /** Errors */
            errors: components["schemas"]["ForkFailure"][];
            /** Sandboxes */
            sandboxes: components["schemas"]["EnteredModel"][];
        };
        /** ForkBody */
        ForkBody: {
            /**
             * Count
             * @default 1
             */
            count: number;
            /**
             * Names
             * @description One for each, if given.
             */
            names?: string[] | null;
        };
        /** ForkFailure */
        ForkFailure: {
            /**
             * Code
             * @description A stable word for programs.
             * @example sandbox_not_found
             */
            code: string;
            /**
             * Index
             * @description Which of the children, counted from 0.
             */
            index: number;
            /**
             * Message
             * @description Prose for people: what happened, to which thing, what to do.
             */
            message: string;
        } & {
            [key: string]: unknown;
        };
        /** GiveBody */
        GiveBody: {
            /**
             * Token
             * @description A link's.
             */
            token: string;
        };
        /** HealthModel */
        HealthModel: {
            /**
             * Status
             * @example ok
             */
            status: string;
        };
        /** HoldBody */
        HoldBody: {
            /**
             * Reason
             * @description Shown to whoever asks why it is awake.
             * @default
             */
            reason: string;
            /** Seconds */
            seconds: number;
        };
        /** HoldModel */
        HoldModel: {
            /** Reason */
            reason: string;
            /**
             * Until
             * @description RFC 3339, UTC.
             * @example 2026-01-31T12:00:00.250Z
             */
            until: string;
        };
        /** KeyBody */
        KeyBody: {
            /**
             * Name
             * @description What it is for.
             */
            name: string;
            /**
             * Scope
             * @description `operator`: all, and the machine. `full`: all sandboxes of the team. `read-only`: sees them, changes nothing. `sandbox:<id>`: that one.
             * @default full
             */
            scope: string;
        };
        /** KeyList */
        KeyList: {
            /** Keys */
            keys: components["schemas"]["KeyModel"][];
        };
        /** KeyModel */
        KeyModel: {
            /**
             * Created At
             * @description RFC 3339, UTC.
             * @example 2026-01-31T12:00:00.250Z
             */
            created_at: string;
            /**
             * Hint
             * @description The last characters of the secret.
             */
            hint: string;
            /** Id */
            id: string;
            /** Name */
            name: string;
            /**
             * Scope
             * @description How far it reaches.
             * @example full
             */
            scope: string;
        };
        /** LinkBody */
        LinkBody: {
            /**
             * Label
             * @description Whom it is for: shown when they drive.
             * @default
             */
            label: string;
            /** @description Of a link to the screen: `view` unless given; `control` may take over. */
            mode?: components["schemas"]["LinkMode"] | null;
            /**
             * Port
             * @description Makes it a link to this port, in place of the screen.
             */
            port?: number | null;
            /**
             * Seconds
             * @description How long it opens anything; 30 days at most.
             * @default 3600
             */
            seconds: number;
        };
        /** LinkList */
        LinkList: {
            /** Links */
            links: components["schemas"]["LinkModel"][];
        };
        /**
         * LinkMode
         * @description What a link to a screen is good for.
         * @enum {string}
         */
        LinkMode: "view" | "control";
        /** LinkModel */
        LinkModel: {
            /**
             * Created At
             * @description RFC 3339, UTC.
             * @example 2026-01-31T12:00:00.250Z
             */
            created_at: string;
            /**
             * Expires At
             * @description RFC 3339, UTC.
             * @example 2026-01-31T12:00:00.250Z
             */
            expires_at: string;
            /**
             * Id
             * @example l0h3mn29fk4ttq0xv2c71
             */
            id: string;
            /** Label */
            label: string;
            /** @description Null for a link to a port. */
            mode: components["schemas"]["LinkMode"] | null;
            /**
             * Port
             * @description Null for a link to the screen.
             */
            port: number | null;
        };
        /** LogLineModel */
        LogLineModel: {
            /**
             * At
             * @description RFC 3339, UTC.
             * @example 2026-01-31T12:00:00.250Z
             */
            at: string;
            /**
             * Step
             * @description By its place in the build's `steps`.
             */
            step: number | null;
            /**
             * Stream
             * @description stdout, stderr, or build: said by the builder itself.
             */
            stream: string;
            /** Text */
            text: string;
        };
        /** LogPage */
        LogPage: {
            /** Lines */
            lines: components["schemas"]["LogLineModel"][];
            /**
             * Next
             * @description What to ask for `after` with, next.
             */
            next: number;
        };
        /**
         * MetricModel
         * @description Counters since the incarnation began (cpu_s, received, sent), gauges of the moment (memory, disk).
         */
        MetricModel: {
            /**
             * At
             * @description RFC 3339, UTC.
             * @example 2026-01-31T12:00:00.250Z
             */
            at: string;
            /** Cpu S */
            cpu_s: number;
            /** Disk Bytes */
            disk_bytes: number;
            /** Memory Bytes */
            memory_bytes: number;
            /** Received Bytes */
            received_bytes: number;
            /** Sent Bytes */
            sent_bytes: number;
        };
        /** MetricsAnswer */
        MetricsAnswer: {
            /** Metrics */
            metrics: components["schemas"]["MetricModel"][];
        };
        /**
         * NetworkBody
         * @description Only what is mentioned changes; each field is replaced as a whole.
         */
        NetworkBody: {
            /**
             * Allow
             * @description IPv4 addresses, networks and, if `internet` is false, host names and `*.` wildcards. Wins over `deny`.
             * @default []
             */
            allow: string[];
            /**
             * Deny
             * @description IPv4 addresses and networks. Wins over `internet`.
             * @default []
             */
            deny: string[];
            /**
             * Dns
             * @description IPv4 addresses of the DNS servers that are asked. Null: this machine's. Empty: no name resolves.
             */
            dns?: string[] | null;
            /**
             * Https Ports
             * @description Ports of services that speak TLS themselves.
             * @default []
             */
            https_ports: number[];
            /**
             * Internet
             * @description Whether what neither list names is open.
             * @default true
             */
            internet: boolean;
            /**
             * Mask Host
             * @description The Host that services inside see; `${PORT}` is theirs.
             */
            mask_host?: string | null;
            proxy?: components["schemas"]["ProxyBody"] | null;
            /**
             * Public
             * @description Whether its ports are reached without its traffic token.
             * @default true
             */
            public: boolean;
            /**
             * Rules
             * @description Host name to what every request to it is given: a rule, or just its headers.
             * @default {}
             */
            rules: {
                [key: string]: components["schemas"]["RuleBody"] | {
                    [key: string]: string;
                };
            };
        };
        /**
         * NetworkModel
         * @description As it is.
         */
        NetworkModel: {
            /**
             * Allow
             * @description IPv4 addresses, networks and, if `internet` is false, host names and `*.` wildcards. Wins over `deny`.
             */
            allow: string[];
            /**
             * Deny
             * @description IPv4 addresses and networks. Wins over `internet`.
             */
            deny: string[];
            /**
             * Dns
             * @description IPv4 addresses of the DNS servers that are asked. Null: this machine's. Empty: no name resolves.
             */
            dns: string[] | null;
            /** Https Ports */
            https_ports: number[];
            /** Internet */
            internet: boolean;
            /** Mask Host */
            mask_host: string | null;
            proxy: components["schemas"]["ProxyModel"] | null;
            /** Public */
            public: boolean;
            /**
             * Rules
             * @description By host name.
             */
            rules: {
                [key: string]: components["schemas"]["RuleModel"];
            };
        };
        /** NewKeyModel */
        NewKeyModel: {
            /**
             * Created At
             * @description RFC 3339, UTC.
             * @example 2026-01-31T12:00:00.250Z
             */
            created_at: string;
            /**
             * Hint
             * @description The last characters of the secret.
             */
            hint: string;
            /** Id */
            id: string;
            /** Name */
            name: string;
            /**
             * Scope
             * @description How far it reaches.
             * @example full
             */
            scope: string;
            /**
             * Secret
             * @description Shown this once and kept nowhere.
             */
            secret: string;
        };
        /** NewLinkModel */
        NewLinkModel: {
            /**
             * Created At
             * @description RFC 3339, UTC.
             * @example 2026-01-31T12:00:00.250Z
             */
            created_at: string;
            /**
             * Expires At
             * @description RFC 3339, UTC.
             * @example 2026-01-31T12:00:00.250Z
             */
            expires_at: string;
            /**
             * Id
             * @example l0h3mn29fk4ttq0xv2c71
             */
            id: string;
            /** Label */
            label: string;
            /** @description Null for a link to a port. */
            mode: components["schemas"]["LinkMode"] | null;
            /**
             * Port
             * @description Null for a link to the screen.
             */
            port: number | null;
            /**
             * Token
             * @description The secret. It is in this answer and nowhere else.
             */
            token: string;
            /**
             * Url
             * @description For a browser. Of a screen: a page; the token is behind the #, which browsers keep to themselves. Of a port: its address; the token is in `roost_link`, which any path there takes, and becomes a cookie.
             */
            url: string;
            /**
             * Websocket
             * @description The screen as RFB over WebSocket.
             */
            websocket: string | null;
        };
        /**
         * NodeModel
         * @description What the machine holds and what is left of it.
         */
        NodeModel: {
            /** Checks */
            checks: components["schemas"]["CheckModel"][];
            /** Cpus */
            cpus: number;
            /** Disk Free Bytes */
            disk_free_bytes: number;
            /** Disk Total Bytes */
            disk_total_bytes: number;
            /** Disk Used Bytes */
            disk_used_bytes: number;
            /**
             * Load
             * @description Of the last 1, 5 and 15 minutes.
             */
            load: number[];
            /**
             * Memory Dozing Bytes
             * @description Held by sleepers, and given up when somebody needs it.
             */
            memory_dozing_bytes: number;
            /** Memory Free Bytes */
            memory_free_bytes: number;
            /** Memory Total Bytes */
            memory_total_bytes: number;
            sandboxes: components["schemas"]["CountsModel"];
            slots: components["schemas"]["SlotsModel"];
            /** Snapshots */
            snapshots: number;
            /**
             * Uptime S
             * @description Of the server.
             */
            uptime_s: number;
            /**
             * Warm
             * @description Clones kept ready, by template.
             */
            warm: {
                [key: string]: number;
            };
        };
        /**
         * OnTimeout
         * @enum {string}
         */
        OnTimeout: "pause" | "kill";
        /** OperationModel */
        OperationModel: {
            /** Action */
            action: string;
            /**
             * Deadline At
             * @description RFC 3339, UTC.
             * @example 2026-01-31T12:00:00.250Z
             */
            deadline_at: string;
            /**
             * Started At
             * @description RFC 3339, UTC.
             * @example 2026-01-31T12:00:00.250Z
             */
            started_at: string;
        };
        /** PauseBody */
        PauseBody: {
            /**
             * Memory
             * @description False keeps the disk only: resume is then a boot.
             * @default true
             */
            memory: boolean;
        };
        /**
         * PolicyFields
         * @description When a sandbox sleeps by itself. Left out: it does not.
         */
        PolicyFields: {
            /**
             * Idle Cpu Share
             * @description Below this share of one core the guest counts as idle.
             * @default 0.05
             */
            idle_cpu_share: number;
            /**
             * Idle S
             * @description Sleep after so long without traffic, holds or work of its own.
             */
            idle_s?: number | null;
            /**
             * Keep Memory
             * @description Whether sleeping by itself keeps its memory.
             * @default true
             */
            keep_memory: boolean;
            /** @default pause */
            on_timeout: components["schemas"]["OnTimeout"];
            /**
             * Timeout S
             * @description At this age, do `on_timeout`.
             */
            timeout_s?: number | null;
            /**
             * Wake On Traffic
             * @description Whether a request to it wakes it.
             * @default true
             */
            wake_on_traffic: boolean;
        };
        /**
         * ProxyBody
         * @description What everything by TCP goes through; there is no way around it.
         */
        ProxyBody: {
            /**
             * Address
             * @description host:port (SOCKS5), or http://host:port (CONNECT).
             */
            address: string;
            /**
             * Ca Cert
             * @description PEM, in place of what this machine trusts.
             */
            ca_cert?: string | null;
            /** Password */
            password?: string | null;
            /**
             * Server Name
             * @description The name in its certificate, if not that of the address.
             */
            server_name?: string | null;
            /**
             * Tls
             * @description Whether the proxy is spoken to through TLS.
             * @default false
             */
            tls: boolean;
            /** Username */
            username?: string | null;
        };
        /**
         * ProxyModel
         * @description Password and certificates are not shown.
         */
        ProxyModel: {
            /** Address */
            address: string;
            /** Server Name */
            server_name: string | null;
            /** Tls */
            tls: boolean;
            /** Username */
            username: string | null;
        };
        /** PruneAnswer */
        PruneAnswer: {
            /**
             * Layers
             * @description How many are gone.
             */
            layers: number;
        };
        /** PruneBody */
        PruneBody: {
            /**
             * Unused S
             * @description Only layers that no build used for so long.
             * @default 0
             */
            unused_s: number;
        };
        /**
         * Purpose
         * @description Why it is kept. Collected when the purpose ends: sleep with its sandbox, trash after its time, kept and template only when
         *     deleted.
         * @enum {string}
         */
        Purpose: "sleep" | "kept" | "fork" | "template" | "layer" | "trash";
        /** QuestionDetail */
        QuestionDetail: {
            answer: components["schemas"]["AnswerModel"] | null;
            /** Choices */
            choices: string[];
            /**
             * Created At
             * @description RFC 3339, UTC.
             * @example 2026-01-31T12:00:00.250Z
             */
            created_at: string;
            /**
             * Expires At
             * @description RFC 3339, UTC.
             * @example 2026-01-31T12:00:00.250Z
             */
            expires_at: string;
            /** Has Screenshot */
            has_screenshot: boolean;
            /**
             * Id
             * @example q0h3mn29fk4ttq0xv2c71
             */
            id: string;
            kind: components["schemas"]["QuestionKind"];
            /** Sandbox */
            sandbox: string;
            /**
             * Sandbox Name
             * @description When it was asked.
             */
            sandbox_name: string | null;
            /**
             * Screenshot
             * @description A data: URL.
             */
            screenshot: string | null;
            state: components["schemas"]["QuestionState"];
            /** Text */
            text: string;
        };
        /**
         * QuestionKind
         * @enum {string}
         */
        QuestionKind: "question" | "approval";
        /** QuestionModel */
        QuestionModel: {
            answer: components["schemas"]["AnswerModel"] | null;
            /** Choices */
            choices: string[];
            /**
             * Created At
             * @description RFC 3339, UTC.
             * @example 2026-01-31T12:00:00.250Z
             */
            created_at: string;
            /**
             * Expires At
             * @description RFC 3339, UTC.
             * @example 2026-01-31T12:00:00.250Z
             */
            expires_at: string;
            /** Has Screenshot */
            has_screenshot: boolean;
            /**
             * Id
             * @example q0h3mn29fk4ttq0xv2c71
             */
            id: string;
            kind: components["schemas"]["QuestionKind"];
            /** Sandbox */
            sandbox: string;
            /**
             * Sandbox Name
             * @description When it was asked.
             */
            sandbox_name: string | null;
            state: components["schemas"]["QuestionState"];
            /** Text */
            text: string;
        };
        /** QuestionPage */
        QuestionPage: {
            /** Next Cursor */
            next_cursor: string | null;
            /** Questions */
            questions: components["schemas"]["QuestionModel"][];
        };
        /**
         * QuestionState
         * @enum {string}
         */
        QuestionState: "open" | "answered" | "expired" | "withdrawn";
        /** ReasonModel */
        ReasonModel: {
            /** Detail */
            detail: string;
            /** Kind */
            kind: string;
            /** Since */
            since: string | null;
            /** Until */
            until: string | null;
        };
        /** RemovedTemplates */
        RemovedTemplates: {
            /** Removed */
            removed: components["schemas"]["TemplateModel"][];
        };
        /** ResumeBody */
        ResumeBody: {
            /**
             * Cold
             * @description Agree to boot from the disk and lose what was in memory.
             * @default false
             */
            cold: boolean;
        };
        /** ResumedModel */
        ResumedModel: {
            /**
             * Changed At
             * @description Of its state: asleep, awake or dead since then.
             * @example 2026-01-31T12:00:00.250Z
             */
            changed_at: string;
            /**
             * Cold
             * @description It booted from its disk; what was in memory is gone.
             */
            cold: boolean;
            /**
             * Created At
             * @description RFC 3339, UTC.
             * @example 2026-01-31T12:00:00.250Z
             */
            created_at: string;
            /** Domain */
            domain: string;
            /** @description The person who drives; null: the agent does. */
            driver: components["schemas"]["DriverModel"] | null;
            /** Expires At */
            expires_at: string | null;
            /**
             * Has Desktop
             * @description It has a screen.
             */
            has_desktop: boolean;
            hold: components["schemas"]["HoldModel"] | null;
            /**
             * Id
             * @example i0h3mn29fk4ttq0xv2c71
             */
            id: string;
            /**
             * Incarnation
             * @description Counts the processes that stood behind it.
             */
            incarnation: number;
            /**
             * Lost
             * @description Commands that ran in the memory that was left out.
             */
            lost: string[];
            /** Metadata */
            metadata: {
                [key: string]: string;
            };
            /** Name */
            name: string | null;
            /** @description What it may reach, and who may reach it. */
            network: components["schemas"]["NetworkModel"];
            /** @description The move under way. */
            operation: components["schemas"]["OperationModel"] | null;
            /**
             * Parent
             * @description The sandbox it was forked from.
             */
            parent: string | null;
            policy: components["schemas"]["PolicyFields"];
            /**
             * Reason
             * @description Why it died, or was rewound.
             */
            reason: string | null;
            /**
             * Revision
             * @description Counts its changes: of two answers, the one with the smaller is the older.
             */
            revision: number;
            size: components["schemas"]["SizeModel"];
            /**
             * Snapshot
             * @description The newest: where resume and rewind lead.
             */
            snapshot: string | null;
            /**
             * Started At
             * @description Of this incarnation.
             */
            started_at: string | null;
            state: components["schemas"]["State"];
            /** Template */
            template: string;
            /**
             * Undelete Until
             * @description Until then a dead one can be undeleted.
             */
            undelete_until: string | null;
            /**
             * Url
             * @example http://{port}-i0h3mn29fk4ttq0xv2c71.roost.localhost:4700
             */
            url: string;
        };
        /** RollbackBody */
        RollbackBody: {
            /**
             * Snapshot
             * @description One of its own, by id or name.
             */
            snapshot: string;
        };
        /**
         * RuleBody
         * @description What requests to a host are given.
         */
        RuleBody: {
            /**
             * Headers
             * @description In place of the request's own of these names. Values are never shown: `********` stands in their place, and sent back keeps what is there.
             */
            headers: {
                [key: string]: string;
            };
            /**
             * Plain
             * @description Whether also in plain http, where everybody on the way can read them.
             * @default false
             */
            plain: boolean;
        };
        /** RuleModel */
        RuleModel: {
            /**
             * Headers
             * @description In place of the request's own of these names. Values are never shown: `********` stands in their place, and sent back keeps what is there.
             */
            headers: {
                [key: string]: string;
            };
            /**
             * Plain
             * @description Whether also in plain http, where everybody on the way can read them.
             * @default false
             */
            plain: boolean;
        };
        /** SandboxModel */
        SandboxModel: {
            /**
             * Changed At
             * @description Of its state: asleep, awake or dead since then.
             * @example 2026-01-31T12:00:00.250Z
             */
            changed_at: string;
            /**
             * Created At
             * @description RFC 3339, UTC.
             * @example 2026-01-31T12:00:00.250Z
             */
            created_at: string;
            /** Domain */
            domain: string;
            /** @description The person who drives; null: the agent does. */
            driver: components["schemas"]["DriverModel"] | null;
            /** Expires At */
            expires_at: string | null;
            /**
             * Has Desktop
             * @description It has a screen.
             */
            has_desktop: boolean;
            hold: components["schemas"]["HoldModel"] | null;
            /**
             * Id
             * @example i0h3mn29fk4ttq0xv2c71
             */
            id: string;
            /**
             * Incarnation
             * @description Counts the processes that stood behind it.
             */
            incarnation: number;
            /** Metadata */
            metadata: {
                [key: string]: string;
            };
            /** Name */
            name: string | null;
            /** @description What it may reach, and who may reach it. */
            network: components["schemas"]["NetworkModel"];
            /** @description The move under way. */
            operation: components["schemas"]["OperationModel"] | null;
            /**
             * Parent
             * @description The sandbox it was forked from.
             */
            parent: string | null;
            policy: components["schemas"]["PolicyFields"];
            /**
             * Reason
             * @description Why it died, or was rewound.
             */
            reason: string | null;
            /**
             * Revision
             * @description Counts its changes: of two answers, the one with the smaller is the older.
             */
            revision: number;
            size: components["schemas"]["SizeModel"];
            /**
             * Snapshot
             * @description The newest: where resume and rewind lead.
             */
            snapshot: string | null;
            /**
             * Started At
             * @description Of this incarnation.
             */
            started_at: string | null;
            state: components["schemas"]["State"];
            /** Template */
            template: string;
            /**
             * Undelete Until
             * @description Until then a dead one can be undeleted.
             */
            undelete_until: string | null;
            /**
             * Url
             * @example http://{port}-i0h3mn29fk4ttq0xv2c71.roost.localhost:4700
             */
            url: string;
        };
        /** SandboxPage */
        SandboxPage: {
            /**
             * Next Cursor
             * @description Ask again with it for the next page; null: there is none.
             */
            next_cursor: string | null;
            /** Sandboxes */
            sandboxes: components["schemas"]["SandboxModel"][];
        };
        /**
         * SeatModel
         * @description What the holder of a link may know.
         */
        SeatModel: {
            /** @description The person who drives; null: the agent does. */
            driver: components["schemas"]["DriverModel"] | null;
            /**
             * Drives
             * @description It is the holder of this link who drives.
             */
            drives: boolean;
            /**
             * Expires At
             * @description RFC 3339, UTC.
             * @example 2026-01-31T12:00:00.250Z
             */
            expires_at: string;
            /** Label */
            label: string;
            mode: components["schemas"]["LinkMode"];
            /** Sandbox */
            sandbox: string;
            /** Sandbox Name */
            sandbox_name: string | null;
            state: components["schemas"]["State"];
            /**
             * Websocket
             * @description The screen as RFB over WebSocket.
             */
            websocket: string;
        };
        /** SessionKeyModel */
        SessionKeyModel: {
            /**
             * Hint
             * @description The last characters of the secret.
             */
            hint: string;
            /** Id */
            id: string;
            /** Name */
            name: string;
            /**
             * Scope
             * @description How far it reaches.
             * @example full
             */
            scope: string;
        };
        /**
         * SessionModel
         * @description Who is signed in, and to what. Sandboxes are at `<scheme>://<port of theirs>-<sandbox>.<domain>:<port>`.
         */
        SessionModel: {
            /** Domain */
            domain: string;
            key: components["schemas"]["SessionKeyModel"];
            /** Port */
            port: number;
            /** Scheme */
            scheme: string;
            /** Team */
            team: string;
            /** Version */
            version: string;
        };
        /** SignInBody */
        SignInBody: {
            /**
             * Key
             * @description An API key.
             */
            key: string;
        };
        /**
         * SizeBody
         * @description What a sandbox may use. What is left out is the template's; zero means no limit.
         */
        SizeBody: {
            /** Cpus */
            cpus?: number | null;
            /** Disk Mb */
            disk_mb?: number | null;
            /** Memory Mb */
            memory_mb?: number | null;
            /** Pids */
            pids?: number | null;
        };
        /**
         * SizeModel
         * @description What a sandbox may use. Zero means no limit.
         */
        SizeModel: {
            /** Cpus */
            cpus: number;
            /** Disk Mb */
            disk_mb: number;
            /** Memory Mb */
            memory_mb: number;
            /** Pids */
            pids: number;
        };
        /**
         * SleepAllAnswer
         * @description Who sleeps now, by id, and who could not be put to sleep.
         */
        SleepAllAnswer: {
            /** Errors */
            errors: components["schemas"]["ErrorDetail"][];
            /** Sandboxes */
            sandboxes: string[];
        };
        /**
         * SlotsModel
         * @description Network slots.
         */
        SlotsModel: {
            /**
             * Held
             * @description Of sandboxes, awake or asleep.
             */
            held: number;
            /**
             * Most
             * @description How many there can be.
             */
            most: number;
            /**
             * Spare
             * @description Ready in advance.
             */
            spare: number;
        };
        /** SnapshotBody */
        SnapshotBody: {
            /**
             * Memory
             * @default true
             */
            memory: boolean;
            /** Name */
            name?: string | null;
        };
        /**
         * SnapshotKind
         * @enum {string}
         */
        SnapshotKind: "disk" | "disk+memory";
        /** SnapshotModel */
        SnapshotModel: {
            /**
             * Created At
             * @description RFC 3339, UTC.
             * @example 2026-01-31T12:00:00.250Z
             */
            created_at: string;
            /** Id */
            id: string;
            kind: components["schemas"]["SnapshotKind"];
            /** Memory Bytes */
            memory_bytes: number;
            /** Name */
            name: string | null;
            /** Parent */
            parent: string | null;
            purpose: components["schemas"]["Purpose"];
            /** Sandbox */
            sandbox: string | null;
            /** Template */
            template: string;
        };
        /** SnapshotPage */
        SnapshotPage: {
            /** Next Cursor */
            next_cursor: string | null;
            /** Snapshots */
            snapshots: components["schemas"]["SnapshotModel"][];
        };
        /**
         * State
         * @enum {string}
         */
        State: "creating" | "running" | "pausing" | "paused" | "resuming" | "snapshotting" | "killing" | "dead";
        /**
         * StepState
         * @enum {string}
         */
        StepState: "waiting" | "running" | "done" | "cached" | "failed";
        /** TagBody */
        TagBody: {
            /**
             * Tag
             * @description That names the same template from now on.
             */
            tag: string;
        };
        /** TakeBody */
        TakeBody: {
            /**
             * Force
             * @description Also from another person.
             * @default false
             */
            force: boolean;
            /**
             * Token
             * @description A link's.
             */
            token: string;
        };
        /**
         * TemplateBuildModel
         * @description A template that is built, or was.
         */
        TemplateBuildModel: {
            /**
             * Created At
             * @description RFC 3339, UTC.
             * @example 2026-01-31T12:00:00.250Z
             */
            created_at: string;
            /** Ended At */
            ended_at: string | null;
            failure: components["schemas"]["BuildFailureModel"] | null;
            /** Id */
            id: string;
            /** Name */
            name: string;
            size: components["schemas"]["SizeModel"];
            /** Started At */
            started_at: string | null;
            state: components["schemas"]["BuildState"];
            /** Steps */
            steps: components["schemas"]["BuildStepModel"][];
            /** Tag */
            tag: string;
            /**
             * Template
             * @description Its name and tag.
             */
            template: string;
        };
        /** TemplateList */
        TemplateList: {
            /** Being Made */
            being_made: components["schemas"]["BuildModel"][];
            /** Templates */
            templates: components["schemas"]["TemplateModel"][];
        };
        /** TemplateModel */
        TemplateModel: {
            /**
             * Created At
             * @description RFC 3339, UTC.
             * @example 2026-01-31T12:00:00.250Z
             */
            created_at: string;
            /** Description */
            description: string;
            /**
             * Has Desktop
             * @description Its sandboxes have a screen.
             */
            has_desktop: boolean;
            /** Id */
            id: string;
            /**
             * Is Built In
             * @description Comes with Roost: everybody's.
             */
            is_built_in: boolean;
            /**
             * Memory Bytes
             * @description Of its snapshot, which every sandbox starts from.
             */
            memory_bytes: number;
            /** Name */
            name: string;
            /**
             * Packages
             * @description What is installed, beside what those need.
             */
            packages: string[];
            /**
             * Sandboxes
             * @description Living ones of the team that were made from it.
             */
            sandboxes: number;
            size: components["schemas"]["SizeModel"];
            /** Snapshot */
            snapshot: string;
            /** Tag */
            tag: string;
            /** User */
            user: string;
            /** Workdir */
            workdir: string;
        };
        /**
         * UpdateBody
         * @description Only what is mentioned changes. `metadata` is replaced as a whole.
         */
        UpdateBody: {
            /**
             * Idle Cpu Share
             * @description Below this share of one core the guest counts as idle.
             * @default 0.05
             */
            idle_cpu_share: number;
            /**
             * Idle S
             * @description Sleep after so long without traffic, holds or work of its own.
             */
            idle_s?: number | null;
            /**
             * Keep Memory
             * @description Whether sleeping by itself keeps its memory.
             * @default true
             */
            keep_memory: boolean;
            /**
             * Metadata
             * @default {}
             */
            metadata: {
                [key: string]: string;
            };
            /** Name */
            name?: string | null;
            network?: components["schemas"]["NetworkBody"] | null;
            /** @default pause */
            on_timeout: components["schemas"]["OnTimeout"];
            /**
             * Timeout S
             * @description At this age, do `on_timeout`.
             */
            timeout_s?: number | null;
            /**
             * Wake On Traffic
             * @description Whether a request to it wakes it.
             * @default true
             */
            wake_on_traffic: boolean;
        };
        /** UploadModel */
        UploadModel: {
            /** Digest */
            digest: string;
            /** Size Bytes */
            size_bytes: number;
        };
        /** VersionModel */
        VersionModel: {
            /** Agent */
            agent: string;
            /** Domain */
            domain: string;
            /** Engine */
            engine: string;
            /**
             * Home
             * @description On its machine; null for whoever does not operate it.
             */
            home: string | null;
            /**
             * Pid
             * @description As `home`.
             */
            pid: number | null;
            /** Version */
            version: string;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    listBuilds: {
        parameters: {
            query?: {
                limit?: number;
                /** @description Only those of this name. */
                template?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BuildList"];
                };
            };
            /** @description The request makes no sense as it stands. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No API key, or one that is not ours. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Known, but not allowed; or a page of another site asked. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Ours: a bug, or a broken machine. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not now; the same request may succeed later. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Any other error. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    createBuild: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["BuildBody"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TemplateBuildModel"];
                };
            };
            /** @description The request makes no sense as it stands. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No API key, or one that is not ours. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Known, but not allowed; or a page of another site asked. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not in this state, or somebody else was first. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description A limit is reached: of the machine, the disk or a quota. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Ours: a bug, or a broken machine. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not now; the same request may succeed later. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Any other error. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    getBuild: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A build's id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TemplateBuildModel"];
                };
            };
            /** @description The request makes no sense as it stands. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No API key, or one that is not ours. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Known, but not allowed; or a page of another site asked. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Ours: a bug, or a broken machine. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not now; the same request may succeed later. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Any other error. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    cancelBuild: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A build's id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TemplateBuildModel"];
                };
            };
            /** @description The request makes no sense as it stands. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No API key, or one that is not ours. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Known, but not allowed; or a page of another site asked. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not in this state, or somebody else was first. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Ours: a bug, or a broken machine. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not now; the same request may succeed later. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Any other error. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    readBuildLog: {
        parameters: {
            query?: {
                /** @description From this line on; the first is 0. */
                after?: number;
                /** @description Server-sent events, until the build has ended. */
                follow?: boolean;
                limit?: number;
            };
            header?: {
                /** @description Goes on behind this one, without a gap. */
                "last-event-id"?: string | null;
            };
            path: {
                /** @description A build's id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description With `follow`, server-sent events: `id` is the number of the next line, `event` is `line`, and `end` with the build at last. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LogPage"];
                    "text/event-stream": string;
                };
            };
            /** @description The request makes no sense as it stands. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No API key, or one that is not ours. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Known, but not allowed; or a page of another site asked. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Ours: a bug, or a broken machine. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not now; the same request may succeed later. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Any other error. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    getDriver: {
        parameters: {
            query: {
                /** @description A link's. */
                token: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SeatModel"];
                };
            };
            /** @description The request makes no sense as it stands. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No API key, or one that is not ours. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Known, but not allowed; or a page of another site asked. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description There was one; it is dead. */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Ours: a bug, or a broken machine. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not now; the same request may succeed later. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Any other error. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    handBack: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["GiveBody"];
            };
        };
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The request makes no sense as it stands. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No API key, or one that is not ours. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Known, but not allowed; or a page of another site asked. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description There was one; it is dead. */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Ours: a bug, or a broken machine. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not now; the same request may succeed later. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Any other error. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    followDriver: {
        parameters: {
            query: {
                /** @description A link's. */
                token: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Server-sent events: `seat`, at once and with every change. Ends when the link does. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            /** @description The request makes no sense as it stands. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No API key, or one that is not ours. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Known, but not allowed; or a page of another site asked. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description There was one; it is dead. */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Ours: a bug, or a broken machine. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not now; the same request may succeed later. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Any other error. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    takeOver: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TakeBody"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DriverModel"];
                };
            };
            /** @description The request makes no sense as it stands. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No API key, or one that is not ours. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Known, but not allowed; or a page of another site asked. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not in this state, or somebody else was first. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description There was one; it is dead. */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Ours: a bug, or a broken machine. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not now; the same request may succeed later. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Any other error. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    listEvents: {
        parameters: {
            query?: {
                /** @description A sequence: only later ones. */
                after?: number;
                /** @description A sequence: only earlier ones. */
                before?: number | null;
                /** @description Any of these. */
                kind?: components["schemas"]["EventKind"][];
                limit?: number;
                newest_first?: boolean;
                /** @description Only those of it, by id. */
                sandbox?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EventList"];
                };
            };
            /** @description The request makes no sense as it stands. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No API key, or one that is not ours. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Known, but not allowed; or a page of another site asked. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Ours: a bug, or a broken machine. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not now; the same request may succeed later. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Any other error. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    followEvents: {
        parameters: {
            query?: {
                /** @description Start behind this one; left out: with the next. */
                after?: number | null;
                kind?: components["schemas"]["EventKind"][];
                sandbox?: string | null;
            };
            header?: {
                /** @description Goes on behind this one, without a gap. */
                "last-event-id"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Server-sent events: `id` is the sequence, `event` the kind, `data` the event. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            /** @description The request makes no sense as it stands. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No API key, or one that is not ours. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Known, but not allowed; or a page of another site asked. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Ours: a bug, or a broken machine. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not now; the same request may succeed later. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Any other error. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    getFleet: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FleetAnswer"];
                };
            };
            /** @description The request makes no sense as it stands. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No API key, or one that is not ours. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Known, but not allowed; or a page of another site asked. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Ours: a bug, or a broken machine. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not now; the same request may succeed later. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Any other error. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    getHealth: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HealthModel"];
                };
            };
        };
    };
    listKeys: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KeyList"];
                };
            };
            /** @description The request makes no sense as it stands. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No API key, or one that is not ours. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Known, but not allowed; or a page of another site asked. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Ours: a bug, or a broken machine. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not now; the same request may succeed later. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Any other error. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    createKey: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["KeyBody"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NewKeyModel"];
                };
            };
            /** @description The request makes no sense as it stands. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No API key, or one that is not ours. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Known, but not allowed; or a page of another site asked. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Ours: a bug, or a broken machine. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not now; the same request may succeed later. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Any other error. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    revokeKey: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A key's id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The request makes no sense as it stands. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No API key, or one that is not ours. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Known, but not allowed; or a page of another site asked. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not in this state, or somebody else was first. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Ours: a bug, or a broken machine. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not now; the same request may succeed later. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Any other error. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    followLive: {
        parameters: {
            query?: {
                /** @description The fleet's `cursor`; left out: only what comes. */
                after?: number | null;
            };
            header?: {
                /** @description Goes on behind this one, without a gap. */
                "last-event-id"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Server-sent events. Events as in `/v1/events/stream`; `sandbox`: a record that changed, as SandboxModel; `pulse`: `{"p": {id: [share of a core, bytes of memory]}}`, every 10 seconds at most, of those sandboxes alone whose figures changed noticeably, and `"d": {id: true or false}` of those that began to doze, or no longer do. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            /** @description The request makes no sense as it stands. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No API key, or one that is not ours. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Known, but not allowed; or a page of another site asked. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Ours: a bug, or a broken machine. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not now; the same request may succeed later. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Any other error. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    getNode: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NodeModel"];
                };
            };
            /** @description The request makes no sense as it stands. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No API key, or one that is not ours. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Known, but not allowed; or a page of another site asked. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Ours: a bug, or a broken machine. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not now; the same request may succeed later. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Any other error. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    sleepAll: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SleepAllAnswer"];
                };
            };
            /** @description The request makes no sense as it stands. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No API key, or one that is not ours. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Known, but not allowed; or a page of another site asked. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Ours: a bug, or a broken machine. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not now; the same request may succeed later. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description It took longer than it may. */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Any other error. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    listQuestions: {
        parameters: {
            query?: {
                cursor?: string | null;
                limit?: number;
                /** @description Only those of it, by id or name. */
                sandbox?: string | null;
                /** @description Left out: all. */
                state?: components["schemas"]["QuestionState"] | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["QuestionPage"];
                };
            };
            /** @description The request makes no sense as it stands. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No API key, or one that is not ours. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Known, but not allowed; or a page of another site asked. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Ours: a bug, or a broken machine. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not now; the same request may succeed later. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Any other error. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    getQuestion: {
        parameters: {
            query?: {
                /** @description Waits so long for its end, 300 at most. */
                wait_s?: number;
            };
            header?: never;
            path: {
                /** @description A question's id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["QuestionDetail"];
                };
            };
            /** @description The request makes no sense as it stands. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No API key, or one that is not ours. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Known, but not allowed; or a page of another site asked. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Ours: a bug, or a broken machine. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not now; the same request may succeed later. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Any other error. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    withdrawQuestion: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A question's id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The request makes no sense as it stands. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No API key, or one that is not ours. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Known, but not allowed; or a page of another site asked. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Ours: a bug, or a broken machine. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not now; the same request may succeed later. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Any other error. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    answerQuestion: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A question's id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AnswerBody"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["QuestionModel"];
                };
            };
            /** @description The request makes no sense as it stands. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No API key, or one that is not ours. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Known, but not allowed; or a page of another site asked. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not in this state, or somebody else was first. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Ours: a bug, or a broken machine. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not now; the same request may succeed later. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Any other error. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    listSandboxes: {
        parameters: {
            query?: {
                /** @description `next_cursor` of the page before. */
                cursor?: string | null;
                /** @description Of a page, 1 to 100. */
                limit?: number;
                /** @description `key=value`; every pair given must be there. */
                metadata?: string[];
                /** @description Names that begin so. */
                name?: string | null;
                /** @description Any of these. Left out: all but the dead. */
                state?: components["schemas"]["State"][];
                template?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SandboxPage"];
                };
            };
            /** @description The request makes no sense as it stands. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No API key, or one that is not ours. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Known, but not allowed; or a page of another site asked. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Ours: a bug, or a broken machine. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not now; the same request may succeed later. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Any other error. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    createSandbox: {
        parameters: {
            query?: never;
            header?: {
                /** @description The same key and body get the same sandbox, for 24 hours. */
                "idempotency-key"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["CreateBody"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EnteredModel"];
                };
            };
            /** @description The request makes no sense as it stands. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No API key, or one that is not ours. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Known, but not allowed; or a page of another site asked. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not in this state, or somebody else was first. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description There was one; it is dead. */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description A limit is reached: of the machine, the disk or a quota. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Ours: a bug, or a broken machine. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not now; the same request may succeed later. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description It took longer than it may. */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Any other error. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    getSandbox: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A sandbox's id or name. */
                ref: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SandboxModel"];
                };
            };
            /** @description The request makes no sense as it stands. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No API key, or one that is not ours. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Known, but not allowed; or a page of another site asked. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Ours: a bug, or a broken machine. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not now; the same request may succeed later. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Any other error. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    killSandbox: {
        parameters: {
            query?: {
                /** @description Whether it can be undeleted for a while. */
                keep?: boolean;
            };
            header?: never;
            path: {
                /** @description A sandbox's id or name. */
                ref: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The request makes no sense as it stands. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No API key, or one that is not ours. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Known, but not allowed; or a page of another site asked. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Ours: a bug, or a broken machine. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not now; the same request may succeed later. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description It took longer than it may. */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Any other error. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    updateSandbox: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A sandbox's id or name. */
                ref: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["UpdateBody"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SandboxModel"];
                };
            };
            /** @description The request makes no sense as it stands. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No API key, or one that is not ours. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Known, but not allowed; or a page of another site asked. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not in this state, or somebody else was first. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description There was one; it is dead. */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Ours: a bug, or a broken machine. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not now; the same request may succeed later. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Any other error. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    getActivity: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A sandbox's id or name. */
                ref: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ActivityModel"];
                };
            };
            /** @description The request makes no sense as it stands. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No API key, or one that is not ours. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Known, but not allowed; or a page of another site asked. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Ours: a bug, or a broken machine. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not now; the same request may succeed later. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Any other error. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    extendSandbox: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A sandbox's id or name. */
                ref: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ExtendBody"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SandboxModel"];
                };
            };
            /** @description The request makes no sense as it stands. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No API key, or one that is not ours. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Known, but not allowed; or a page of another site asked. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not in this state, or somebody else was first. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description There was one; it is dead. */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Ours: a bug, or a broken machine. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not now; the same request may succeed later. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Any other error. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    forkSandbox: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A sandbox's id or name. */
                ref: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["ForkBody"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ForkAnswer"];
                };
            };
            /** @description The request makes no sense as it stands. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No API key, or one that is not ours. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Known, but not allowed; or a page of another site asked. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not in this state, or somebody else was first. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description There was one; it is dead. */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description A limit is reached: of the machine, the disk or a quota. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Ours: a bug, or a broken machine. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not now; the same request may succeed later. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description It took longer than it may. */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Any other error. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    holdSandbox: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A sandbox's id or name. */
                ref: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["HoldBody"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SandboxModel"];
                };
            };
            /** @description The request makes no sense as it stands. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No API key, or one that is not ours. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Known, but not allowed; or a page of another site asked. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description There was one; it is dead. */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Ours: a bug, or a broken machine. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not now; the same request may succeed later. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Any other error. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    releaseSandbox: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A sandbox's id or name. */
                ref: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SandboxModel"];
                };
            };
            /** @description The request makes no sense as it stands. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No API key, or one that is not ours. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Known, but not allowed; or a page of another site asked. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description There was one; it is dead. */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Ours: a bug, or a broken machine. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not now; the same request may succeed later. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Any other error. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    listLinks: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A sandbox's id or name. */
                ref: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LinkList"];
                };
            };
            /** @description The request makes no sense as it stands. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No API key, or one that is not ours. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Known, but not allowed; or a page of another site asked. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Ours: a bug, or a broken machine. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not now; the same request may succeed later. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Any other error. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    makeLink: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A sandbox's id or name. */
                ref: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["LinkBody"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NewLinkModel"];
                };
            };
            /** @description The request makes no sense as it stands. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No API key, or one that is not ours. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Known, but not allowed; or a page of another site asked. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not in this state, or somebody else was first. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description There was one; it is dead. */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description A limit is reached: of the machine, the disk or a quota. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Ours: a bug, or a broken machine. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not now; the same request may succeed later. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Any other error. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    revokeLink: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A link's id. */
                id: string;
                /** @description A sandbox's id or name. */
                ref: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The request makes no sense as it stands. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No API key, or one that is not ours. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Known, but not allowed; or a page of another site asked. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Ours: a bug, or a broken machine. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not now; the same request may succeed later. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Any other error. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    getMetrics: {
        parameters: {
            query?: {
                /** @description Seconds since 1970. */
                end?: number;
                /** @description Seconds since 1970. */
                start?: number;
            };
            header?: never;
            path: {
                /** @description A sandbox's id or name. */
                ref: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MetricsAnswer"];
                };
            };
            /** @description The request makes no sense as it stands. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No API key, or one that is not ours. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Known, but not allowed; or a page of another site asked. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Ours: a bug, or a broken machine. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not now; the same request may succeed later. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Any other error. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    pauseSandbox: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A sandbox's id or name. */
                ref: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["PauseBody"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SandboxModel"];
                };
            };
            /** @description The request makes no sense as it stands. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No API key, or one that is not ours. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Known, but not allowed; or a page of another site asked. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not in this state, or somebody else was first. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description There was one; it is dead. */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description A limit is reached: of the machine, the disk or a quota. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Ours: a bug, or a broken machine. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not now; the same request may succeed later. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description It took longer than it may. */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Any other error. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    askQuestion: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A sandbox's id or name. */
                ref: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AskBody"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["QuestionModel"];
                };
            };
            /** @description The request makes no sense as it stands. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No API key, or one that is not ours. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Known, but not allowed; or a page of another site asked. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description There was one; it is dead. */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description A limit is reached: of the machine, the disk or a quota. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Ours: a bug, or a broken machine. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not now; the same request may succeed later. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Any other error. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    resumeSandbox: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A sandbox's id or name. */
                ref: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["ResumeBody"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ResumedModel"];
                };
            };
            /** @description The request makes no sense as it stands. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No API key, or one that is not ours. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Known, but not allowed; or a page of another site asked. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not in this state, or somebody else was first. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description There was one; it is dead. */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description A limit is reached: of the machine, the disk or a quota. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Ours: a bug, or a broken machine. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not now; the same request may succeed later. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description It took longer than it may. */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Any other error. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    rollBackSandbox: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A sandbox's id or name. */
                ref: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RollbackBody"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SandboxModel"];
                };
            };
            /** @description The request makes no sense as it stands. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No API key, or one that is not ours. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Known, but not allowed; or a page of another site asked. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not in this state, or somebody else was first. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description There was one; it is dead. */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description A limit is reached: of the machine, the disk or a quota. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Ours: a bug, or a broken machine. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not now; the same request may succeed later. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description It took longer than it may. */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Any other error. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    takeSnapshot: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A sandbox's id or name. */
                ref: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["SnapshotBody"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SnapshotModel"];
                };
            };
            /** @description The request makes no sense as it stands. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No API key, or one that is not ours. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Known, but not allowed; or a page of another site asked. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not in this state, or somebody else was first. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description There was one; it is dead. */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description A limit is reached: of the machine, the disk or a quota. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Ours: a bug, or a broken machine. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not now; the same request may succeed later. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description It took longer than it may. */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Any other error. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    getTokens: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A sandbox's id or name. */
                ref: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EnteredModel"];
                };
            };
            /** @description The request makes no sense as it stands. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No API key, or one that is not ours. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Known, but not allowed; or a page of another site asked. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description There was one; it is dead. */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Ours: a bug, or a broken machine. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not now; the same request may succeed later. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Any other error. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    rotateTokens: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A sandbox's id or name. */
                ref: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EnteredModel"];
                };
            };
            /** @description The request makes no sense as it stands. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No API key, or one that is not ours. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Known, but not allowed; or a page of another site asked. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description There was one; it is dead. */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Ours: a bug, or a broken machine. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not now; the same request may succeed later. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Any other error. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    undeleteSandbox: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A sandbox's id or name. */
                ref: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EnteredModel"];
                };
            };
            /** @description The request makes no sense as it stands. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No API key, or one that is not ours. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Known, but not allowed; or a page of another site asked. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not in this state, or somebody else was first. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description There was one; it is dead. */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description A limit is reached: of the machine, the disk or a quota. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Ours: a bug, or a broken machine. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not now; the same request may succeed later. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description It took longer than it may. */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Any other error. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    getSession: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionModel"];
                };
            };
            /** @description The request makes no sense as it stands. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No API key, or one that is not ours. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Known, but not allowed; or a page of another site asked. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Ours: a bug, or a broken machine. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not now; the same request may succeed later. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Any other error. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    signIn: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SignInBody"];
            };
        };
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The request makes no sense as it stands. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No API key, or one that is not ours. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Known, but not allowed; or a page of another site asked. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Ours: a bug, or a broken machine. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not now; the same request may succeed later. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Any other error. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    signOut: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The request makes no sense as it stands. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No API key, or one that is not ours. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Known, but not allowed; or a page of another site asked. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Ours: a bug, or a broken machine. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not now; the same request may succeed later. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Any other error. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    listSnapshots: {
        parameters: {
            query?: {
                cursor?: string | null;
                limit?: number;
                /** @description Only those of it, by id or name. */
                sandbox?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SnapshotPage"];
                };
            };
            /** @description The request makes no sense as it stands. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No API key, or one that is not ours. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Known, but not allowed; or a page of another site asked. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Ours: a bug, or a broken machine. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not now; the same request may succeed later. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Any other error. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    getSnapshot: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A snapshot's id or name. */
                ref: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SnapshotModel"];
                };
            };
            /** @description The request makes no sense as it stands. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No API key, or one that is not ours. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Known, but not allowed; or a page of another site asked. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Ours: a bug, or a broken machine. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not now; the same request may succeed later. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Any other error. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    deleteSnapshot: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A snapshot's id or name. */
                ref: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The request makes no sense as it stands. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No API key, or one that is not ours. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Known, but not allowed; or a page of another site asked. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not in this state, or somebody else was first. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Ours: a bug, or a broken machine. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not now; the same request may succeed later. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Any other error. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    readSnapshotFile: {
        parameters: {
            query?: {
                /** @description As the sandbox knew it. */
                path?: string;
            };
            header?: never;
            path: {
                /** @description A snapshot's id or name. */
                ref: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Its bytes. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": string;
                };
            };
            /** @description The request makes no sense as it stands. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No API key, or one that is not ours. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Known, but not allowed; or a page of another site asked. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Ours: a bug, or a broken machine. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not now; the same request may succeed later. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Any other error. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    listSnapshotFiles: {
        parameters: {
            query?: {
                /** @description As the sandbox knew it. */
                path?: string;
            };
            header?: never;
            path: {
                /** @description A snapshot's id or name. */
                ref: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FileList"];
                };
            };
            /** @description The request makes no sense as it stands. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No API key, or one that is not ours. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Known, but not allowed; or a page of another site asked. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Ours: a bug, or a broken machine. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not now; the same request may succeed later. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Any other error. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    listTemplates: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TemplateList"];
                };
            };
            /** @description The request makes no sense as it stands. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No API key, or one that is not ours. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Known, but not allowed; or a page of another site asked. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Ours: a bug, or a broken machine. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not now; the same request may succeed later. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Any other error. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    getTemplate: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A template's name, `name:tag`, or id. */
                ref: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TemplateModel"];
                };
            };
            /** @description The request makes no sense as it stands. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No API key, or one that is not ours. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Known, but not allowed; or a page of another site asked. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Ours: a bug, or a broken machine. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not now; the same request may succeed later. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Any other error. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    deleteTemplate: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A template's name, `name:tag`, or id. */
                ref: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RemovedTemplates"];
                };
            };
            /** @description The request makes no sense as it stands. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No API key, or one that is not ours. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Known, but not allowed; or a page of another site asked. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Ours: a bug, or a broken machine. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not now; the same request may succeed later. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Any other error. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    tagTemplate: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A template's name, `name:tag`, or id. */
                ref: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TagBody"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TemplateModel"];
                };
            };
            /** @description The request makes no sense as it stands. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No API key, or one that is not ours. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Known, but not allowed; or a page of another site asked. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Ours: a bug, or a broken machine. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not now; the same request may succeed later. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Any other error. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    pruneLayers: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PruneBody"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PruneAnswer"];
                };
            };
            /** @description The request makes no sense as it stands. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No API key, or one that is not ours. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Known, but not allowed; or a page of another site asked. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Ours: a bug, or a broken machine. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not now; the same request may succeed later. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Any other error. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    getUpload: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description SHA-256 of what is sent, in hexadecimal digits. */
                digest: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UploadModel"];
                };
            };
            /** @description The request makes no sense as it stands. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No API key, or one that is not ours. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Known, but not allowed; or a page of another site asked. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Ours: a bug, or a broken machine. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not now; the same request may succeed later. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Any other error. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    putUpload: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description SHA-256 of what is sent, in hexadecimal digits. */
                digest: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/octet-stream": string;
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UploadModel"];
                };
            };
            /** @description The request makes no sense as it stands. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No API key, or one that is not ours. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Known, but not allowed; or a page of another site asked. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description The body is too large. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description A limit is reached: of the machine, the disk or a quota. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Ours: a bug, or a broken machine. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not now; the same request may succeed later. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Any other error. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
    getVersion: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VersionModel"];
                };
            };
            /** @description The request makes no sense as it stands. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description No API key, or one that is not ours. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Known, but not allowed; or a page of another site asked. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Ours: a bug, or a broken machine. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Not now; the same request may succeed later. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            /** @description Any other error. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
        };
    };
}
type FlattenedDeepRequired<T> = {
    [K in keyof T]-?: FlattenedDeepRequired<T[K] extends unknown[] | undefined | null ? Extract<T[K], unknown[]>[number] : T[K]>;
};
type ReadonlyArray<T> = [
    Exclude<T, undefined>
] extends [
    unknown[]
] ? Readonly<Exclude<T, undefined>> : Readonly<Exclude<T, undefined>[]>;
export const buildStateValues: ReadonlyArray<FlattenedDeepRequired<components>["schemas"]["BuildState"]> = ["announced", "queued", "building", "ready", "failed", "cancelled"];
export const eventKindValues: ReadonlyArray<FlattenedDeepRequired<components>["schemas"]["EventKind"]> = ["sandbox.created", "sandbox.paused", "sandbox.woke", "sandbox.snapshotted", "sandbox.forked", "sandbox.updated", "sandbox.rewound", "sandbox.died", "sandbox.rolled_back", "sandbox.undeleted", "sandbox.tokens_rotated", "sandbox.failed", "driver.took", "driver.gave", "question.asked", "question.answered", "question.expired", "question.withdrawn", "snapshot.deleted", "template.built", "template.failed"];
export const fileTypeValues: ReadonlyArray<FlattenedDeepRequired<components>["schemas"]["FileType"]> = ["file", "directory", "symlink", "other"];
export const linkModeValues: ReadonlyArray<FlattenedDeepRequired<components>["schemas"]["LinkMode"]> = ["view", "control"];
export const onTimeoutValues: ReadonlyArray<FlattenedDeepRequired<components>["schemas"]["OnTimeout"]> = ["pause", "kill"];
export const purposeValues: ReadonlyArray<FlattenedDeepRequired<components>["schemas"]["Purpose"]> = ["sleep", "kept", "fork", "template", "layer", "trash"];
export const questionKindValues: ReadonlyArray<FlattenedDeepRequired<components>["schemas"]["QuestionKind"]> = ["question", "approval"];
export const questionStateValues: ReadonlyArray<FlattenedDeepRequired<components>["schemas"]["QuestionState"]> = ["open", "answered", "expired", "withdrawn"];
export const snapshotKindValues: ReadonlyArray<FlattenedDeepRequired<components>["schemas"]["SnapshotKind"]> = ["disk", "disk+memory"];
export const stateValues: ReadonlyArray<FlattenedDeepRequired<components>["schemas"]["State"]> = ["creating", "running", "pausing", "paused", "resuming", "snapshotting", "killing", "dead"];
export const stepStateValues: ReadonlyArray<FlattenedDeepRequired<components>["schemas"]["StepState"]> = ["waiting", "running", "done", "cached", "failed"];
